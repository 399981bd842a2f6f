# The figure that a person moves.
class_name Player
extends CharacterBody2D

signal hurt(amount)
signal died

enum State { IDLE, RUNNING, JUMPING = 5 }

const SPEED = 300.0
const Bullet = preload("res://weapons/bullet.gd")

@export var health: int = 100
@export_range(0, 10) var lives := 3
@onready var sprite: Sprite2D = $Sprite
var state = State.IDLE
var _velocity := Vector2.ZERO
static var count = 0

var armour: int:
	set(value):
		armour = max(value, 0)
	get:
		return armour


class Inventory:
	var items: Array[String] = []

	func add(item: String) -> void:
		items.append(item)

	func _to_string() -> String:
		return "func not_code()"


func _ready() -> void:
	count += 1
	hurt.connect(_on_hurt)


# Moves by one frame.
func _physics_process(delta: float) -> void:
	var direction := Input.get_axis("left", "right")
	_velocity.x = direction * SPEED
	if is_on_floor() and Input.is_action_just_pressed("jump"):
		jump(400)
	move_and_slide()


func jump(height: float, sound := true) -> void:
	state = State.JUMPING
	_velocity.y = -height
	for child in get_children():
		child.show()


static func nearest(players: Array, at: Vector2) -> Player:
	var found: Player = null
	for player in players:
		if found == null or distance(player, at) < distance(found, at):
			found = player
	return found


static func distance(player: Player, at: Vector2) -> float:
	return player.position.distance_to(at)


func _on_hurt(amount: int) -> void:
	health -= amount
	if health <= 0:
		died.emit()


func shoot():
	var bullet = Bullet.new()
	bullet.position = position
	add_child(bullet)

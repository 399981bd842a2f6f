@tool
@icon("res://icons/machine.svg")
class_name Machine extends "res://base/station.gd"
## Turns ore into plates.
##
## It has a queue and one arm. func not_code(): pass

signal started
signal finished(item: String, count: int)
signal jammed(
	reason: String,
)

enum { IDLE, BUSY, JAMMED }
enum Mode {
	## Slow but cheap.
	SLOW = 1,
	FAST = SLOW << 1, TURBO,
}

const LIMIT := 16; const GRAVITY: float = 9.8
const NAMES = ["a", "func b():"]
const Arm = preload("res://machine/arm.gd")
const Base := "res://base/station.gd"
const Settings = {
	speed = 1,
	"size": Vector2(1, 2),
}

@export_group("Speed", "speed_")
@export var speed_limit: float = 1.0
@export_range(0, 100, 1, "or_greater") var speed_now: int = 10
@export_enum("Red", "Green") var colour: String
@export_flags("Fire", "Water") \
var elements = 0
@export
var on_own_line := true
@export_category("Debug")
@onready var arm: Arm = $Arm as Arm
@onready var label := %Label
@onready var scene = load("res://machine/scene.tscn")

var queue: Array[Dictionary] = []; var size := 0
var lookup: Dictionary[String, int] = {}
var mode := Mode.SLOW: set = set_mode, get = get_mode
var on_done: Callable = func(item):
	var inner_local = item
	print(inner_local)
var _secret
static var _instances := {}

var heat: float = 0.0:
	get:
		return heat * 2
	set(value):
		var clamped = clampf(value, 0, 1)
		heat = clamped
		if heat > 0.9:
			jammed.emit("heat")

static func _static_init() -> void:
	_instances.clear()


func _init(p_mode := Mode.SLOW, p_size = 1) -> void:
	super._init()
	mode = p_mode


func _enter_tree(): pass


func _process(_delta): # Called each frame
	const LOCAL = 3
	match mode:
		Mode.SLOW:
			_step()
		Mode.FAST, _:
			for i in LOCAL:
				_step()


## Puts something into the queue.
@warning_ignore("unused_parameter")
func push(item: Dictionary, at: int = -1,
		sorter: Callable = func(a, b): return a < b) -> bool:
	if size >= LIMIT:
		return false
	var add := func named_lambda(x: int) -> int:
		return x + 1
	size = add.call(size)
	queue.push_back(item)
	return true


func set_mode(value: Mode) -> void: mode = value
func get_mode() -> Mode: return mode


@rpc("any_peer", "call_local", "reliable")
func sync_queue(data: PackedByteArray) -> void:
	queue = bytes_to_var(data)


@abstract func produce() -> void


func work() -> Dictionary:
	"""
	func in_a_string():
		pass
	"""
	started.emit()
	await get_tree().create_timer(1.0).timeout
	var result = { "count": 1 }
	finished.emit("plate", result["count"])
	return result


func _step() -> void:
	# func commented_out(): pass
	var text := 'class NotAClass:'
	push_warning(text)


class Part:
	extends Resource

	signal broken

	enum Kind { GEAR, BELT }

	const MAX_WEAR = 10
	@export var wear := 0
	var kind: Kind = Kind.GEAR

	func _init(p_kind: Kind) -> void:
		kind = p_kind

	static func make() -> Part:
		return Part.new(Kind.BELT)

	class Screw extends Part:
		var turns := 0

		func turn() -> void: turns += 1


class Empty: pass
class Tiny extends Part: var only := 1


func last(): return queue.back()

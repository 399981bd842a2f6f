"""
    Reactor

Simulates a stirred tank: substances, reactions between them, and the course of their amounts.
"""
module Reactor

using LinearAlgebra
using Dates: DateTime, Minute, now
import Base: show, length, +
import JSON
import ..Units.Kelvin

include("kinetics.jl")
include("solvers/euler.jl")

export Substance, Tank, Reaction, simulate, @reaction
public heat_of

# The gas constant, in J/(mol K).
const GAS = 8.314
const Amount = Float64
const NAMES = Dict{Symbol,String}(:water => "water", :acid => "acid")

tolerance = 1e-9

"Anything that takes part in a reaction."
abstract type Species end

abstract type Solver{T<:Real} end

primitive type Tag 16 end

"""
A pure substance.

Two substances are equal if their formulas are.
"""
struct Substance <: Species
    name::String
    formula::String
    molar_mass::Float64

    function Substance(name, formula, mass)
        mass > 0 || throw(ArgumentError("mass of $name must be positive, not $(mass)"))
        new(name, formula, mass)
    end

    Substance(name) = new(name, "", 1.0)
end

# What happens per unit of time.
mutable struct Reaction{N}
    educts::NTuple{N,Substance}
    products::Vector{Substance}
    rate
    reversible::Bool
end

Base.@kwdef mutable struct Tank
    volume::Float64 = 1.0
    temperature::Kelvin = Kelvin(293.15)
    amounts::Dict{Substance,Amount} = Dict{Substance,Amount}()
    reactions::Vector{Reaction} = Reaction[]
    log::Vector{String} = String[]
end

struct Euler{T} <: Solver{T}
    step::T
end

struct RungeKutta <: Solver{Float64}
    step::Float64
    stages::Int
end

@enum Phase solid liquid gas

@enum Status::UInt8 begin
    idle = 1
    running
    failed
end

const Mixture = Dict{Substance,Amount}

# ---- amounts ----

Base.length(tank::Tank) = length(tank.amounts)
Base.:(==)(a::Substance, b::Substance) = a.formula == b.formula
Base.hash(s::Substance, h::UInt) = hash(s.formula, h)

function Base.show(io::IO, s::Substance)
    print(io, s.name, " (", s.formula, ")")
end

+(a::Mixture, b::Mixture) = mergewith(+, a, b)

concentration(tank::Tank, s::Substance)::Float64 = get(tank.amounts, s, 0.0) / tank.volume

mass(tank) = sum(s.molar_mass * n for (s, n) in tank.amounts; init = 0.0)

"""
    add!(tank, substance, amount)

Adds an amount, in mol, and returns the tank.
"""
function add!(tank::Tank, substance::Substance, amount::Real)
    present = get(tank.amounts, substance, 0.0)
    tank.amounts[substance] = present + amount
    return tank
end

function add!(tank::Tank, mixture::Mixture)
    for (substance, amount) in mixture
        add!(tank, substance, amount)
    end
    tank
end

# ---- rates ----

"The rate by the law of Arrhenius."
arrhenius(A, E, T) = A * exp(-E / (GAS * T))

function rate_of(reaction::Reaction, tank::Tank)
    k = reaction.rate isa Function ? reaction.rate(tank.temperature) : reaction.rate
    product = prod(concentration(tank, educt) for educt in reaction.educts)
    clip(x) = max(x, zero(x))
    return clip(k * product)
end

function derivative(tank::Tank)::Mixture
    change = Mixture()
    for reaction in tank.reactions
        speed = rate_of(reaction, tank) * tank.volume
        foreach(e -> change[e] = get(change, e, 0.0) - speed, reaction.educts)
        foreach(reaction.products) do p
            change[p] = get(change, p, 0.0) + speed
        end
    end
    change
end

# ---- solving ----

function advance! end

function advance!(tank::Tank, solver::Euler{T}, span::T) where {T<:Real}
    steps = ceil(Int, span / solver.step)
    for _ in 1:steps
        add!(tank, Mixture(s => d * solver.step for (s, d) in derivative(tank)))
    end
    push!(tank.log, "advanced by $span s in $steps steps")
    return tank
end

@inline function half(x::T) where T
    x / 2
end

Base.@propagate_inbounds getamount(tank, i) = tank.amounts[i]

(solver::Euler)(tank) = advance!(tank, solver, solver.step)

"""
    simulate(tank, until; solver)

Runs until a time in seconds and calls `each` after every step.
"""
function simulate(
    tank::Tank,
    until;
    solver::Solver = Euler(0.1),
    each = identity,
)
    t = 0.0
    while t < until
        advance!(tank, solver, solver.step)
        t += solver.step
        each(tank)
    end
    #= block comment: simulate(no_use)
       #= nested =# still comment =#
    return tank
end

macro reaction(left, right, rate)
    quote
        Reaction(($(esc(left)),), [$(esc(right))], $(esc(rate)), false)
    end
end

macro watch(expression)
    return :(println($(string(expression)), " = ", $(esc(expression))))
end

heat_of(phase::Phase) = phase == gas ? 40.7 : 0.0

if VERSION >= v"1.9"
    precompile_all() = precompile(simulate, (Tank, Float64))
end

module Reports

using ..Reactor: Tank, mass

struct Report
    title::String
    lines
end

write_report(tank::Tank) = Report("tank", ["mass: $(mass(tank)) g"])

end # module Reports

function main(args)
    tank = Tank(volume = 2.0)
    water = Substance("water", "H2O", 18.0)
    add!(tank, water, 3.0)
    simulate(tank, 10.0; each = t -> @watch mass(t))
    for path in args
        println(JSON.json(tank.log), " written to ", path)
    end
    c = 'x'
    return Reports.write_report(tank)
end

end # module Reactor

@testset "amounts" begin
    @testset "a tank counts its substances" begin
        tank = Reactor.Tank()
        @test length(tank) == 0
    end
end

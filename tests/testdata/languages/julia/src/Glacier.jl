#!/usr/bin/env julia
# Flow of ice down a valley.  function fake() end

"""
    module Glacier

A model of ice.

```julia
function not_code(x)
    x
end
```
"""
module Glacier

using Base: @propagate_inbounds
using Statistics, Random
using StaticArrays: SVector as Vec, SMatrix
import Base: getindex, setindex!, iterate, convert
import LinearAlgebra as LA
using .Constants
export Ice, Valley, flow!, @layers, ⊕
include(joinpath(@__DIR__, "bed.jl"))
include("climate.jl")

module Constants
    export g, n_glen
    const g = 9.81
    const n_glen::Int = 3
    const (ρ_ice, ρ_water) = (917.0, 1000.0)
end

const Maybe{T} = Union{T, Nothing}
const CACHE = Ref{Maybe{Dict}}(nothing)
global counter::Int = 0
α, β = 0.5, 2

abstract type AbstractIce{T <: Real, N} <: AbstractArray{T, N} end
abstract type Law end
primitive type Flake <: Unsigned 8 end

struct Glen{T} <: Law
    A::T
    n::Int
    Glen{T}(A, n) where {T} = new{T}(convert(T, A), n)
    function Glen(A::T; n = 3) where {T <: AbstractFloat}
        n > 0 || error("n")
        return new{T}(A, n)
    end
end

struct Sliding <: Law end

"""
Ice in columns.
"""
Base.@kwdef mutable struct Ice{T <: Real, L <: Law} <: AbstractIce{T, 1}
    "How thick each column is, in m."
    thickness::Vector{T} = zeros(T, 10)
    const law::L = Glen(1.0)
    @atomic steps::Int = 0
    debris   # of any type
    callback::Union{Nothing, Function} = nothing
end

@enum Season::Int8 begin
    winter = 1
    spring
    summer
    autumn
end
@enum(Surface, snow, firn, bare)

@doc "A valley with a slope." struct Valley{F <: Function}
    bed::F
    width::Float64
end

Base.size(ice::Ice) = size(ice.thickness)
Base.getindex(ice::Ice, i::Int) = ice.thickness[i]
@inline Base.@propagate_inbounds function Base.setindex!(ice::Ice{T}, value, i::Int) where {T}
    @boundscheck checkbounds(ice, i)
    ice.thickness[i] = value
end
Base.iterate(ice::Ice, state = 1) = state > length(ice) ? nothing : (ice[state], state + 1)
Base.convert(::Type{Ice{T}}, x::Vector) where {T} = Ice{T, Sliding}(thickness = x)
Base.:+(a::Ice, b::Ice) = a
LA.norm(ice::Ice, p::Real = 2) = LA.norm(ice.thickness, p)
(law::Glen)(stress) = law.A * stress^law.n
(::Type{Valley})() = Valley(identity, 1.0)
⊕(a, b) = a + b
a ⊗ b = a * b
!(x::Season) = x

viscosity(law::Law, stress::T) where {T <: Real} = stress / law(stress)
velocity(h::Real, slope; law = Glen(1.0), kwargs...)::Float64 = 2 * law.A * slope

const square = x -> x^2
const scaled = function (x, y)
    x * y
end

"Moves the ice by one step of `dt`."
function flow!(ice::Ice{T, L},
               valley::Valley,
               dt::Real;
               rng::AbstractRNG = Random.default_rng(),
               limit::Maybe{T} = nothing,
              )::Ice{T, L} where {T, L}
    local flux = zeros(T, length(ice))
    function flux_at(i)
        inner = i -> i + 1
        viscosity(ice.law, ice[i]) * inner(i)
    end
    edge(i) = clamp(i, 1, length(ice))
    for (i, h) in enumerate(ice), j ∈ (i - 1, i + 1)
        flux[i] += flux_at(edge(j)) * dt
    end
    map(1:3) do k
        helper = k * 2
        helper
    end
    text = "function $(string(ice)) end # not code"
    ice
end

function (valley::Valley)(x::Real)
    valley.bed(x)
end

function melt end

function melt(ice::Ice, ::Val{:summer}) ice.thickness .*= 0.9 end
melt(ice::Ice, ::Val) = ice

@generated function unrolled(x::Vec{N}) where {N}
    terms = [:(x[$i]) for i in 1:N]
    return :(+($(terms...)))
end

Base.@constprop :aggressive function tuned(x)
    x
end

macro layers(n::Int, body...)
    names = [Symbol(:layer_, i) for i in 1:n]
    quote
        $(map(name -> :($name = 0), names)...)
    end |> esc
end

macro m_str(text)
    :(parse(Float64, $text))
end

for op in (:sin, :cos)
    @eval Base.$op(ice::Ice) = map($op, ice)
    @eval begin
        function $(Symbol(op, "_all"))(ice)
            ice
        end
    end
end

let hidden = 3
    global reveal() = hidden
end

begin
    grouped(x) = x
    const GROUPED = 4
end

@static if Sys.iswindows()
    path_of(x) = replace(x, '/' => '\\')
else
    path_of(x) = x
end

#= function commented(x)
   #= nested =#
end =#

baremodule Tiny
    import Base
    one() = 1
end

__init__() = (CACHE[] = Dict())

end # module Glacier

using Test, .Glacier

@testset "flow" begin
    ice = Glacier.Ice{Float64, Glacier.Sliding}(debris = nothing)
    @test length(ice) == 10
    @testset "column $i" for i in 1:3
        @test ice[i] == 0
    end
    @testset "nested" verbose = true begin
        check(x) = x == 0
        @test_throws BoundsError ice[99]
    end
end

# Second order by ForwardDiff over ours: Buffers are made wide enough for the Duals that they may be given.

"""The widest Dual type in the fields and elements of a `T`; defined before the generated function that calls it."""
function dual_in(T, seen)
    T === Union{} && return Union{}
    T <: ForwardDiff.Dual && return T
    T isa Union && return wider(dual_in(T.a, seen), dual_in(T.b, seen))
    (T in seen || T <: Union{Type,Module,Symbol,AbstractString,AbstractFloat,Integer}) && return Union{}
    push!(seen, T)
    found = T <: AbstractArray && eltype(T) !== T ? dual_in(eltype(T), seen) : Union{}
    isconcretetype(T) || return found
    return foldl((W, F) -> F isa Type ? wider(W, dual_in(F, seen)) : W, fieldtypes(T); init = found)
end

wider(A, B) = A === Union{} ? B : B === Union{} ? A : promote_type(A, B)

"""
    widest_dual(f, args...) -> type

The `ForwardDiff.Dual` type in the types of the arguments and of what `f` has captured, or `Union{}`.
"""
@generated widest_dual(args...) = dual_in(Tuple{args...}, Set{Any}())

"""Element type of a Buffer of `T` in a context: wide enough for the Duals that it may be given."""
widened(cx, ::Type{T}) where {T} = T
widened(cx::Context{W}, ::Type{T}) where {W,T<:Number} =
    T <: Integer || !isconcretetype(T) || W === Union{} ? T : promote_type(T, W)

"""
    hessian(f, x)

Matrix of second derivatives of the real `f(x)`, by ForwardDiff over [`gradient`](@ref); a number for a number `x`.
Raises what `gradient` raises, and [`MutationError`](@ref) where `f` writes into a Buffer of plain numbers that was made outside of it.

```jldoctest
julia> hessian(x -> (b = Buffer(x); b[1] *= b[2]; b[1]^2), [1.0, 2.0])
2×2 Matrix{Float64}:
 8.0  8.0
 8.0  2.0
```
"""
hessian(f, x::AbstractArray) = ForwardDiff.jacobian(z -> vec(gradient_or_zero(f, z)), x)
hessian(f, x::Real) = ForwardDiff.derivative(z -> gradient_or_zero(f, z), x)

function gradient_or_zero(f, z)
    g = only(gradient(f, z))
    return g === nothing ? zero(z) : g
end

"""
    hvp(f, x, v)

Product of the Hessian of the real `f(x)` with `v`, of the shape of `x`: the derivative of the gradient along `v`. For tuples
`x` and `v`, `f(x...)` and a tuple. Raises what [`hessian`](@ref) raises.

```jldoctest
julia> MutationBridge.hvp(x -> (b = Buffer(x); b[1] *= b[2]; b[1]^2), [1.0, 2.0], [1.0, 0.0])
2-element Vector{Float64}:
 8.0
 8.0
```
"""
hvp(f, x, v) = only(hvp(f, (x,), (v,)))
function hvp(f, xs::Tuple, vs::Tuple)
    tag = perturbation(f, xs)
    return map(tangent_like, xs, map(g -> tangent(tag, g), gradient(f, map((x, v) -> perturbed(tag, x, v), xs, vs)...)))
end

"""
    jvp(f, xs::Tuple, vs::Tuple) -> (value, derivative)

The value of `f(xs...)` and its derivative along `vs`, by ForwardDiff: numbers, arrays, tuples and named tuples of these.

```jldoctest
julia> MutationBridge.jvp((x, a) -> (b = Buffer(x); b[1] *= a; copy(b)), ([2.0, 3.0], 10.0), ([1.0, 0.0], 1.0))
([20.0, 3.0], [12.0, 0.0])
```
"""
function jvp(f, xs::Tuple, vs::Tuple)
    tag = perturbation(f, xs)
    duals = map((x, v) -> perturbed(tag, x, v), xs, vs)
    y = try
        outcome(f(duals...))
    catch error
        error isa MutationError || rethrow()
        first(pullback(f, duals...))    # Buffers of plain numbers, which a context makes wide enough
    end
    return primal(tag, y), tangent_like(y, tangent(tag, y))
end

perturbation(f, xs) = typeof(ForwardDiff.Tag((f, hvp), typeof(xs)))

perturbed(tag, x::Integer, v::Real) = perturbed(tag, float(x), v)
perturbed(tag, x::Real, v::Real) = ForwardDiff.Dual{tag}(x, convert(typeof(x), v))
perturbed(tag, x::Complex, v::Number) = complex(perturbed(tag, real(x), real(v)), perturbed(tag, imag(x), imag(v)))
perturbed(tag, x::AbstractArray, v::AbstractArray) = map((a, b) -> perturbed(tag, a, b), x, v)
perturbed(tag, x::Tuple, v::Tuple) = map((a, b) -> perturbed(tag, a, b), x, v)
perturbed(tag, x::NamedTuple{names}, v::NamedTuple) where {names} = NamedTuple{names}(map(name -> perturbed(tag, x[name], v[name]), names))
perturbed(tag, x, v) = x

primal(tag, y) = y
primal(tag, y::Real) = ForwardDiff.value(tag, y)
primal(tag, y::Complex) = complex(primal(tag, real(y)), primal(tag, imag(y)))
primal(tag, y::Union{Tuple,NamedTuple,AbstractArray}) = map(x -> primal(tag, x), y)

tangent(tag, y) = nothing
tangent(tag, y::Real) = ForwardDiff.extract_derivative(tag, y)
tangent(tag, y::Complex) = complex(tangent(tag, real(y)), tangent(tag, imag(y)))
tangent(tag, y::Union{Tuple,NamedTuple,AbstractArray}) = map(x -> tangent(tag, x), y)

# No gradient is a zero one for numbers and arrays of numbers.
tangent_like(x, ct) = ct
tangent_like(x::Union{Number,AbstractArray{<:Number}}, ::Nothing) = zero(x)

# The doors: gradient, withgradient, pullback, and the second order by ForwardDiff over ours.

"""
    pullback(f, args...) -> (value, pull)

The value of `f(args...)`, and a function from its cotangent to a tuple of the arguments' cotangents (`nothing` where
there is none). `pull` may be called any number of times; each call leaves every Buffer as it was before `f` ran.
A Buffer in the value comes out as an `Array`. Raises [`MutationError`](@ref) where `f` writes a plain array, and [`LostGradient`](@ref)
where a part of the gradient would be lost.

```jldoctest
julia> y, pull = pullback(x -> (b = Buffer(x); b[2] *= b[1]; b), [2.0, 3.0]);

julia> y, pull([0.0, 1.0])
([2.0, 6.0], ([3.0, 2.0],))
```
"""
function pullback(f::F, args...) where {F}
    y, pull = play(f, args...)
    return outcome(y), pull
end

"""
    gradient(f, args...)

Tuple of the gradients of the real number `f(args...)` by each argument, `nothing` where there is none, as Zygote's.
A gradient by a [`Buffer`](@ref) is one by its contents at entry; it is left as it was.
Raises `ArgumentError` if `f` does not return a real number, and what [`pullback`](@ref) raises.

```jldoctest
julia> gradient((x, a) -> (b = Buffer(x); b[1] *= a; b[1] * b[2]), [2.0, 3.0], 10.0)
([30.0, 20.0], 6.0)
```
"""
function gradient(f::F, args...) where {F}
    y, pull = play(f, args...)
    return pull(seed(pull, y))
end

"""
    withgradient(f, args...) -> (val = ..., grad = ...)

The value and the [`gradient`](@ref). If `f` returns a tuple or named tuple, the gradient is that of its first entry. Raises what `gradient` raises.

```jldoctest
julia> withgradient(x -> (loss = x^2, steps = 3), 2.0)
(val = (loss = 4.0, steps = 3), grad = (4.0,))
```
"""
function withgradient(f::F, args...) where {F}
    y, pull = play(f, args...)
    val = outcome(y)
    return (val = val, grad = pull(first_seed(pull, y)))
end

"""The pullback of a whole run: redoes the log if it was rewound, walks it from its end, checks that nothing is left."""
mutable struct Pull{C<:Context,F,B,Y,A<:Tuple} <: Function
    const context::C
    const f::F
    const random::Random.Xoshiro    # where the random generator was when `f` began
    const back::B
    const value::Y
    const args::A
    const length::Int
    rewound::Bool
    broken::Bool
end

function play(f::F, args...) where {F}
    poll()
    cx = Context{widest_dual(f, args...)}()
    random = copy(Random.default_rng())
    foreach(b -> touch!(cx, b.r), buffers_in(args))
    y, back = try
        differentiated(cx, f, args...)
    catch
        unwind!(cx)
        rethrow()
    end
    return y, Pull(cx, f, random, back, y, args, cx.position, false, false)
end

function (pull::Pull)(ct)
    cts = sweep!(pull, ct)
    hold_dropped(pull, ct, cts)
    return cts
end

function sweep!(pull::Pull, ct)
    pull.broken && throw(LostGradient("an earlier call of this pullback raised an error half-way; call MutationBridge.pullback again"))
    cx = pull.context
    try
        pull.rewound && replay!(cx, pull.length)
        cts = pull.back(enter_buffers!(pull.value, ct))
        finish!(cx)
        pull.rewound = true
        return argument_cotangents(pull.args, cts)
    catch error
        pull.broken = true
        unwind!(cx)
        lost_in_catch(error) && throw(LostGradient("$(error.msg) What a catch block, or the try block that it ends, writes \
            and reads cannot be differentiated. Check the condition before, with if, in place of try."))
        rethrow()
    finally
        foreach(clear_shadow!, cx.roots)
    end
end

clear_shadow!(r) = (r.shadow = nothing)
lost_in_catch(error) = error isa ErrorException && occursin("function execution in catch block", error.msg)

"""Undo whatever of the log is in effect, after an error."""
function unwind!(cx::Context)
    for r in cx.roots
        r.owner === cx || continue
        while r.applied > 0
            undo!(r)
        end
    end
    cx.position = 0
    return nothing
end

"""Play a log that was rewound forward again."""
function replay!(cx::Context, length::Int)
    while !isempty(cx.redo)
        pop!(cx.redo)()
    end
    for r in cx.roots
        check_owner(cx, r, "a second call of a pullback")
        while r.applied < Base.length(r.places)
            redo!(r)
        end
    end
    cx.position = length
    reset_mutables!(cx.cache)
    return nothing
end

"""Zygote keeps the cotangents of mutable structs and dictionaries in its cache: begin each sweep without any."""
reset_mutables!(::Nothing) = nothing
function reset_mutables!(cache)
    for (x, ct) in cache
        x isa GlobalRef && delete!(cache, x)
        x isa AbstractDict && empty!(ct)
        ct isa Base.RefValue && ismutable(x) && (ct[] = Zygote.nt_nothing(x))
    end
end

"""The last check: the log is empty, and no Buffer that was born here holds gradient that nobody took."""
function finish!(cx::Context)
    cx.position == 0 || throw(LostGradient("$(cx.position) of the writes were never undone: their pullbacks were skipped. \
        Do not write Buffers in catch blocks, in sort(by = ...), or in code that is excluded from differentiation."))
    for r in cx.roots
        r.guest && r.untracked > cx.began && !no_gradient(r.shadow) && throw(LostGradient("a Buffer{$(eltype(r.data))} of size \
            $(size(r.data)) that was made outside of the differentiated function was written where nothing is differentiated (a \
            predicate, a broadcast with Boolean result), and its contents carry gradient. Make the Buffer inside, or pass it as an argument."))
        r.guest || no_gradient(r.shadow) || throw(LostGradient("a Buffer{$(eltype(r.data))} of size $(size(r.data)) holds \
            gradient that never reached its constructor, whose pullback did not run."))
    end
    return nothing
end

no_gradient(::Nothing) = true
no_gradient(s::AbstractArray) = all(x -> x === nothing || (x isa Number && iszero(x)), s)

# --- seeds

"""One, of the type of a real value; if there can be no gradient, undo the run and say why."""
seed(pull::Pull, y::Real) = one(y)
seed(pull::Pull, y) = (unwind!(pull.context); throw(ArgumentError(no_scalar(y))))
first_seed(pull::Pull, y) = seed(pull, y)
first_seed(pull::Pull, y::Tuple) = (seed(pull, first(y)), map(_ -> nothing, Base.tail(y))...)
first_seed(pull::Pull, y::NamedTuple{names}) where {names} = NamedTuple{names}(first_seed(pull, Tuple(y)))

no_scalar(y) = "gradient needs a function that returns a real number; this one returned $(what_came(y))"
what_came(y::Nothing) = "nothing. End it with the value."
what_came(y::Complex) = "a complex number. Return its real part, or use pullback and choose the cotangent."
what_came(y::AbstractArray) = "an array of size $(size(y)). Return its sum, or use pullback and choose the cotangent."
what_came(y::Buffer) = "a Buffer of size $(size(y)). Return sum(copy(b)), or use pullback and choose the cotangent."
what_came(y) = "a $(typeof(y))."

for f in (gradient, withgradient, pullback)
    @eval ZygoteRules._pullback(cx::AContext, ::typeof($f), args...) = refuse_nesting()
end
@noinline refuse_nesting() = throw(ArgumentError("a gradient of a gradient by Zygote over Zygote is not supported. Use \
    MutationBridge.hessian, hvp, or ForwardDiff over MutationBridge.gradient."))

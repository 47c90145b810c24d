# Gradients held against finite differences along one direction: the first of a kind, and where memory that outlives the call moves.

"The function of one vector of reals; `outputs` says what of its value are floats."
struct Packed{F,A<:Tuple,O}
    f::F
    arguments::A
    outputs::O
end
(p::Packed)(z) = gathered(p.outputs, p.f(unpacked(p.arguments, z)...))

"The same, from where the random generator and remembered memory were in the run whose value was returned."
struct Redone{P,R}
    packed::P
    random::R
    remembered::Remembered
end
(r::Redone)(z) = (copy!(Random.default_rng(), r.random); put_back!(r.remembered); r.packed(z))

"""
    hold(who, run, z, gradient, along, remembered, always)

Raise `Disproved` if finite differences say that the gradient of `dot(run(z), along)` is wrong: `always`, or only where `run`, a
little beside `z`, leaves other contents in memory that outlives it. An engine takes what was written there, in this run or in an
earlier one, for constant.
"""
function hold(who, run, z, gradient, along, remembered::Remembered, always::Bool)
    always || !isempty(remembered) || return nothing
    eltype(z) <: AbstractFloat && !isempty(z) || return nothing
    names = again(() -> (isempty(remembered) || attempt(() -> run(z .+ step_of(z) .* direction(z, 0))); changed(remembered)), remembered)
    isempty(names) && !always && return nothing
    at(point) = again(() -> dot(run(point), along), remembered)
    for k in 0:(isempty(names) ? 0 : 2)
        compared(who, at, z, gradient, direction(z, k), names) && return nothing
    end
    # A kink, or an error beside the point: only what is written where nobody looks could be wrong.
    isempty(names) || throw(Disproved("$(told_of(names)), finite differences do not say whether the gradient is right here, and an \
        engine may take that memory for constant"))
    return nothing
end

"""
The same for forward mode: `told` is to be the derivative of `at(t)`, a vector, by `t` at 0; `h` is a small step. Where memory moves and
finite differences do not agree, it is refused.
"""
function hold_along(at, told, h, remembered::Remembered)
    isempty(remembered) && return nothing
    names = again(() -> (attempt(() -> at(h)); changed(remembered)), remembered)
    isempty(names) && return nothing
    values = attempt(() -> map(t -> again(() -> at(t), remembered), (-h, h)))
    if values !== nothing && all(value -> length(value) == length(told), values)
        near = (last(values) - first(values)) / 2h
        floor = 100 * step_of(told)^2 * maximum(value -> maximum(abs, value; init=0.0), values)
        norm(near - told) <= max(norm(near), norm(told)) / 50 + floor && return nothing
    end
    throw(Disproved("$(told_of(names)), which forward mode takes for constant: finite differences do not agree"))
end

told_of(names) = "the function writes memory that outlives the call ($(join(first(names, 3), ", ")))"

"What `run()` gives; `nothing` if it raises."
attempt(run) = try
    run()
catch error
    ends_program(error) && rethrow()
    nothing
end

"Whether somebody asks to stop: Ctrl-C, or what Python code raised that is no `Exception` to Python."
ends_program(error) = error isa InterruptException || (Python.is_of_python(error) && Python.ends_program(error))

step_of(z) = cbrt(eps(eltype(z)))
function direction(z, k)
    T = eltype(z)
    size = sum(abs, z) / length(z)
    signs = rand(Random.Xoshiro(length(z) + k), (-one(T), one(T)), length(z))
    return @. signs * (abs(z) + (size == 0 ? one(T) : size / 10))
end

"Whether finite differences agree; false if there is a kink, or the function raises beside the point. They raise where they contradict."
function compared(who, value_at, z, gradient, direction, names)
    h = step_of(z)
    at(t) = value_at(z .+ t .* direction)
    all(isfinite, gradient) || return false
    values = attempt(() -> (at(-h), at(h)))
    values !== nothing && all(isfinite, values) || return false
    below, above = values
    near, told = (above - below) / 2h, dot(gradient, direction)
    scale, floor = max(abs(near), abs(told)), 100 * h^2 * maximum(abs, values)
    abs(told - near) <= scale / 50 + floor && return true
    values = attempt(() -> (at(-2h), at(zero(h)), at(2h)))
    values !== nothing && all(isfinite, values) || return false
    below2, here, above2 = values
    far, right, left = (above2 - below2) / 4h, (above - here) / h, (here - below) / h
    abs(near - far) <= scale / 100 + floor && abs(right - left) <= scale / 20 + floor || return false
    because = isempty(names) ? "" : "$(told_of(names)), which is taken for constant: "
    throw(Disproved("$(because)$who says that the derivative along one direction is $told, and finite differences say $near"))
end

"The gradients in the containers of the arguments, held where the function moves memory; `outputs` are the slots of its value."
function held(gradients, who, f, arguments::Tuple, outputs, ct, random, remembered::Remembered)
    isempty(remembered) && return gradients
    slots, after = slots_of(arguments, 1)
    after == 1 && return gradients
    z, gradient = packed(slots, arguments, after - 1), packed(slots, gradients, after - 1)
    along = packed(outputs, ct, count_of(outputs))
    keeping_random(random) do
        hold(who, Redone(Packed(f, slots, outputs), random, remembered), z, gradient, along, remembered, false)
    end
    return gradients
end

"Run with the generator's state `random`; afterwards it is as it was before."
function keeping_random(run, random)
    generator = Random.default_rng()
    now = copy(generator)
    copy!(generator, random)
    try
        return run()
    finally
        copy!(generator, now)
    end
end

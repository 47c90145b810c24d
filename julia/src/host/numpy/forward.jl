# Forward mode: the tangents of one operation's outputs, written into NumPy's memory.

"How many elements outputs may have where each of them takes a pull."
const MOST_PULLS = 2048

"A forward derivative that would take too many pulls; Python raises NoRuleError."
struct TooManyPulls <: Exception
    count::Int
    why::String
end
Base.showerror(io::IO, error::TooManyPulls) = print(io, "TooManyPulls: ", error.why)

"Operations whose pull was transposed element by element, and why, when they were called last."
const BY_PULLS = Dict{String,String}()

"""
The tangent of an operation's outputs for `tangents` of its inputs, in the nesting of the arguments and then of the keywords.

Dual numbers go through the entry: one run of it. What they say of the outputs is held, in each call, against the pull: along a random
cotangent both give the same number, up to rounding. Where they do not, or where the entry takes no dual numbers, the pull is
transposed element by element, if there are not too many. An elementwise entry has its slopes from the pull, and is not held.
"""
function push_forward!(targets::Tuple, name::String, tangents::Tuple, args::Tuple, names::Tuple, values::Tuple)
    entry, keywords = TABLE[name], named(names, values)
    if entry.scalar !== nothing
        write_value!(only(targets), along_of(each(entry.scalar, map(moving, args, tangents[1:length(args)])...)))
        return nothing
    end
    found, back = pullback(name, args, keywords)
    pulled = Pulled(found isa Tuple ? found : (found,), found isa Tuple, back, tangents, length(args))
    cts = map((target, output) -> target === nothing ? nothing : drawn(target, output), targets, pulled.outputs)
    # Before dual numbers run: Zygote, interpreted, mistakes keywords whose entry ran between a pullback and its pull.
    backward = reduce(vcat, [terms(ct, t) for (ct, t) in pulled_back(pulled, cts)]; init=Float64[])
    why = by_duals!(targets, entry, keywords, args, pulled)
    isempty(why) && (why = apart(terms(cts, targets), backward, tolerance(targets, tangents)))
    isempty(why) && (delete!(BY_PULLS, name); return nothing)
    BY_PULLS[name] = why
    count = sum(length, (t for t in targets if t !== nothing); init=0)
    count <= MOST_PULLS || throw(TooManyPulls(count, why))
    by_pulls!(targets, pulled)
    return nothing
end

"The pull of one operation, and the tangents of its inputs."
struct Pulled
    outputs::Tuple
    several::Bool
    back::Any
    tangents::Tuple
    positional::Int
end

"What the pull makes of `cts`, one for each output: a cotangent for each input that has a tangent, beside that."
function pulled_back(pulled::Pulled, cts::Tuple)
    by_args, by_keywords = pulled.back(pulled.several ? cts : only(cts))
    cotangent(k) = k <= pulled.positional ? part(by_args, k) : part(by_keywords, k - pulled.positional)
    return [(cotangent(k), t) for (k, t) in enumerate(pulled.tangents) if t !== nothing]
end

"Write the tangents that dual numbers give; say why not, if they do not get through."
function by_duals!(targets, entry, keywords, args, pulled)
    n = pulled.positional
    # The value that NumPy computed, which comes as a last keyword, has no tangent.
    by_keyword = ntuple(k -> get(pulled.tangents, n + k, nothing), length(keywords))
    try
        moved_keywords = NamedTuple{keys(keywords)}(map(moving, Tuple(keywords), by_keyword))
        moved = entry.f(map(moving, args, pulled.tangents[1:n])...; moved_keywords...)
        foreach(targets, moved isa Tuple ? moved : (moved,)) do target, part
            target === nothing || write_value!(target, along_of(part))
        end
    catch error
        ends_program(error) && rethrow()
        return "dual numbers do not get through: " * first(split(sprint(showerror, error), '\n'))
    end
    return ""
end

"""
How two sums differ by more than rounding; empty if they do not. Each element of the outputs met a random number, so that one wrong
tangent is seen; terms that rounding moved one by one differ in sum by their root mean square.
"""
function apart(forward, backward, allowed)
    scale = hypot(norm(forward), norm(backward))
    isfinite(scale) || return "a derivative is not finite, so that dual numbers cannot be held against the pull"
    return abs(sum(forward) - sum(backward)) <= allowed * scale ? "" : "dual numbers and the pull do not agree to rounding"
end

"What rounding explains, in the least precise of these arrays: as where Python compares values of engines."
tolerance(xs...) = maximum(tolerance, xs)
tolerance(x::Tuple) = maximum(tolerance, x; init=1e-10)
tolerance(::Nothing) = 1e-10
tolerance(x) = (e = eps(float(real(eltype(x)))); e > 1e-4 ? 1e-2 : e > 1e-8 ? 1e-4 : 1e-10)

"A random cotangent of an output, real if NumPy's output is; the session's generator does not move."
function drawn(target, output)
    random = randn(Xoshiro(length(target)), eltype(target), size(target))
    T = promote_type(eltype(output), eltype(target))
    return output isa Number ? T(only(random)) : reshape(T.(vec(random)), size(output))
end

"Transpose the pull: the product of its value at each unit cotangent with the tangents."
function by_pulls!(targets, pulled)
    for (number, target) in enumerate(targets)
        target === nothing && continue
        function slope(k, unit)
            cts = ntuple(j -> j == number ? seed(pulled.outputs[j], k, unit) : nothing, length(pulled.outputs))
            return sum(inner(ct, t) for (ct, t) in pulled_back(pulled, cts); init=0.0)
        end
        for k in eachindex(target)
            unit = one(eltype(target))
            target[k] = unit isa Complex ? Complex(slope(k, unit), slope(k, im * unit)) : slope(k, unit)
        end
    end
    return nothing
end

# Not by broadcasting, which makes a number of an array without axes.
seed(output::Number, k, unit) = unit
function seed(output, k, unit)
    made = zeros(promote_type(eltype(output), typeof(unit)), size(output))
    made[k] = unit
    return made
end

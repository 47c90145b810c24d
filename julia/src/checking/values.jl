# The proof that a gradient is the derivative: finite differences along coordinates and random directions.

struct Mismatch
    argument::Int
    where::String
    found::Float64
    expected::Float64
end

"""
    compare(loss, points, gradient, rng, tolerance) -> (mismatches, largest, kinks)

Compare `gradient[k]` with finite differences of `loss(points)` for every active `points[k]`: along single elements (all
of a small array, some of a large one) and along random directions.
"""
function compare(loss, points::Vector{Any}, gradient::Vector{Any}, rng, tolerance)
    mismatches, largest, kinks = Mismatch[], 0.0, 0
    for k in eachindex(points)
        is_active(points[k]) || continue
        scale = maximum(abs, points[k]; init = 0.0) + 1
        for (name, direction) in directions(rng, points[k])
            along(t) = loss(Any[j == k ? moved(points[k], direction, t) : points[j] for j in eachindex(points)])
            expected, error, kink = slope(along, 1e-2 * scale)
            kink && (kinks += 1; continue)
            found = inner(gradient[k], direction)
            gap = abs(found - expected) / max(1.0, abs(expected), abs(found))
            gap <= tolerance + 10 * error || isnan(expected) && isnan(found) ? (largest = max(largest, gap)) :
                push!(mismatches, Mismatch(k, name, found, expected))
        end
    end
    return mismatches, largest, kinks
end

directions(rng, x::Real) = [("", one(x))]
directions(rng, x::Complex) = [("(real part)", one(x)), ("(imaginary part)", oftype(x, im))]
function directions(rng, x::AbstractArray)
    isempty(x) && return Tuple{String,Any}[]
    found = Tuple{String,Any}[]
    places = length(x) <= 6 ? collect(eachindex(x)) : rand(rng, eachindex(x), 3)
    for i in places, unit in (eltype(x) <: Complex ? (1, im) : (1,))
        direction = fitting(x, (made = zeros(eltype(x), size(x)); made[i] = unit; made))
        any(!iszero, direction) && push!(found, (string("[", join(Tuple(CartesianIndices(x)[i]), ","), "]", unit == im ? " (imaginary part)" : ""), direction))
    end
    push!(found, (" along a random direction", random_like(rng, x)))
    return found
end

function describe_mismatches(mismatches, name)
    shown = ["the cotangent of $(name(m.argument))$(m.where) is $(short(m.found)), finite differences give $(short(m.expected))" for m in first(mismatches, 3)]
    more = length(mismatches) - length(shown)
    return string(join(shown, "; "), more > 0 ? "; $more more" : "")
end
short(x) = string(round(x; sigdigits = 7))

"""Prove the rule's pull at a call against finite differences; whether it held."""
function prove_pull!(report, call::Call, rng, tolerance; code = :wrong_gradient, at = "")
    cts = seeds(rng, call)
    points = copy(call.args)
    loss(args) = (after = run_plain(with_args(call, args)); weighted(cts, after, call.writes))
    gradient = pulled(call, cts)
    mismatches, largest, kinks = compare(loss, points, gradient, rng, tolerance)
    kinks > 0 && noted!(report, "$call$at: $kinks directions meet a kink")
    isempty(mismatches) && (passed!(report, code === :wrong_gradient ? "pull" : "pull" * at, largest); return true)
    missing_only = all(m -> gradient[m.argument] === nothing, mismatches)
    code === :wrong_gradient && missing_only && (code = :missing_cotangent)
    failed!(report, code, "$call$at: " * describe_mismatches(mismatches, k -> name_of(call, k)), cause(call, cts, loss, rng, tolerance, mismatches))
    return false
end

weighted(cts, after, writes) = sum((ct === nothing ? 0.0 : inner(ct, after[k]) for (ct, k) in zip(cts, writes)); init = 0.0)

"""Try what the pull may have confused, and say it as a remedy."""
function cause(call, cts, loss, rng, tolerance, mismatches)
    after = run_plain(call)
    agrees(args, later) = try
        isempty(first(compare(loss, copy(call.args), pulled(call, deepcopy(cts), deepcopy(args), deepcopy(later)), rng, tolerance)))
    catch
        false
    end
    names = join((name_of(call, k) for k in call.writes), ", ")
    confused = Any[k in call.writes ? after[k] : call.args[k] for k in eachindex(call.args)]
    agrees(confused, alone(Tuple(after[k] for k in call.writes))) && return "in a pull $names holds its value from before the call: ask for `after` instead"
    wants_after(call.rule) && agrees(call.args, alone(Tuple(call.args[k] for k in call.writes))) &&
        return "`after` is the value after the call: read $names, which holds the value from before it"
    ratios = [m.found / m.expected for m in mismatches]
    all(r -> isfinite(r) && abs(r - ratios[1]) < 1e-4 * abs(r), ratios) && !iszero(ratios[1]) &&
        return "these are $(short(ratios[1])) times what they should be: look for a factor counted wrongly"
    all(m -> m.found == 0, mismatches) && return "return a cotangent for each argument that the result depends on"
    return "derive the pull again: sum over what is written of ct times the partial derivative at the arguments from before the call"
end

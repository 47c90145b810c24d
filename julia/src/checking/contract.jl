# What a mutating rule promises besides the derivative: writes what it declares, keeps no state, spoils nothing.

"""Prove everything about a call that needs no derivative; whether it makes sense to go on."""
function prove_contract!(report, call::Call, rng)
    prove_function!(report, call) || return false
    call.rule === nothing && return true
    is_identity(call.rule) && return true
    return prove_pull_returns!(report, call, rng) && prove_honest!(report, call, rng) && prove_linear!(report, call, rng)
end

function prove_function!(report, call::Call)
    once, again = run_plain(call), run_plain(call)
    sound = true
    for k in eachindex(call.args)
        name = name_of(call, k)
        if !(k in call.writes) && !same_bits(once[k], call.args[k])
            failed!(report, :undeclared_mutation, "$call writes its argument $name, which its rule does not declare",
                "add $name to `writes`")
            sound = false
        elseif !same_bits(once[k], again[k])
            failed!(report, :nondeterministic, "$call leaves different values in $name from call to call",
                "no rule can hold for a function that is not repeatable; pass its state as an argument")
            sound = false
        end
    end
    sound && passed!(report, "writes what it declares")
    return sound
end

function prove_pull_returns!(report, call::Call, rng)
    cts = seeds(rng, call)
    raw = try
        raw_cotangents(call.rule::MutatingRule, deepcopy(cts), Tuple(deepcopy(call.args)), call.keywords, after_call(call))
    catch error
        failed!(report, error isa MutationError ? :cotangent_count : :pull_raises, "$call: $(first_line(error))",
            "the pull gets the cotangent after the call and the arguments from before it")
        return false
    end
    sound = true
    for k in eachindex(call.args)
        ct, arg, name = raw[k] isa AbstractThunk ? unthunk(raw[k]) : raw[k], call.args[k], name_of(call, k)
        (is_active(arg) && ct isa Union{Number,AbstractArray}) || continue
        if size(ct) != size(arg)
            failed!(report, :cotangent_shape, "$call: the cotangent of $name has size $(size(ct)), but $name has size $(size(arg))",
                "return one of the argument's size")
            sound = false
        elseif real(eltype(arg)) === Float32 && real(eltype(ct)) === Float64
            failed!(report, :wrong_dtype, "$call: the cotangent of $name is $(eltype(ct)), but $name is $(eltype(arg))",
                "compute in the type of the arguments: no Float64 literals")
        end
    end
    sound && passed!(report, "returns a cotangent for each argument")
    return sound
end

"""The pull leaves what it is given alone, and gives the same twice."""
function prove_honest!(report, call::Call, rng)
    cts, others, after = seeds(rng, call), seeds(rng, call), after_call(call)
    given, args, later = deepcopy(cts), deepcopy(call.args), deepcopy(after)
    first_result = pulled(call, given, args, later)
    spoiled = String[]
    all(map(same_bits, given, cts)) || push!(spoiled, "the cotangent")
    later isa Tuple ? all(map(same_bits, later, after)) || push!(spoiled, "`after`") : same_bits(later, after) || push!(spoiled, "`after`")
    append!(spoiled, name_of(call, k) for k in eachindex(args) if !same_bits(args[k], call.args[k]))
    for name in spoiled
        failed!(report, :writes_arguments, "$call: the pull writes into $name", "work on a copy; what a pull is given belongs to the log")
    end
    isempty(spoiled) || return false
    kept = deepcopy(first_result)
    pulled(call, others)
    if !all(map(same_cotangent, first_result, kept))
        failed!(report, :shared_result, "$call: a second pull changes what the first one returned", "return fresh arrays, not memory that is kept")
        return false
    end
    if !all(map(same_cotangent, pulled(call, cts), kept))
        failed!(report, :not_repeatable, "$call: the pull gives another result for the same arguments", "keep no state between calls of the pull")
        return false
    end
    passed!(report, "pull is repeatable and writes nothing")
    return true
end

same_cotangent(a, b) = a isa Union{Number,AbstractArray{<:Number}} ? same_bits(a, b) : true

function prove_linear!(report, call::Call, rng)
    one_seed, other = seeds(rng, call), seeds(rng, call)
    mixed = map((a, b) -> a === nothing ? nothing : 2 .* a .- 3 .* b, one_seed, other)
    results = (pulled(call, one_seed), pulled(call, other), pulled(call, mixed))
    for k in eachindex(call.args)
        a, b, both = (result[k] for result in results)
        (is_active(call.args[k]) && both isa Union{Number,AbstractArray}) || continue
        expected = 2 .* something(a, zero(both)) .- 3 .* something(b, zero(both))
        gap = maximum(abs, both .- expected; init = 0.0) / max(1, maximum(abs, expected; init = 0.0))
        gap <= 1e4 * eps(real(float(eltype(both)))) && continue
        failed!(report, :not_linear, "$call: the cotangent of $(name_of(call, k)) is not linear in the cotangent after the call (off by $(short(gap)))",
            "a pull multiplies by derivatives; it adds no constant and does not square ct")
        return false
    end
    passed!(report, "pull is linear")
    return true
end

first_line(error) = String(first(split(sprint(showerror, error), '\n')))

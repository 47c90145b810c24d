# The proof that a rule works where it is used: value, gradient and memory of programs over Buffers and plain arrays.

function prove_programs!(report, call::Call, rng, tolerance)
    weights = Any[is_active(x) ? random_like(rng, x) : nothing for x in call.args]
    for program in (PROGRAMS..., (alias_program(k, j) for (k, j) in aliases(call))...)
        prove_program!(report, call, program, weights, rng, tolerance)
    end
    prove_plain_arrays!(report, call, rng, tolerance)
    return nothing
end

function prove_program!(report, call::Call, program, weights, rng, tolerance)
    loss(points) = run_program(Plain(0.0), program, call, points, weights).loss
    expected = try
        program.code === :wrong_in_view && !handles_strides(call) &&
            return noted!(report, "$(nameof(call.f)) does something else on strided views than on arrays")
        loss(call.args)
    catch error
        noted!(report, "$call refuses to be $(program.name) ($(nameof(typeof(error))))")
        return nothing
    end
    t = Traced(length(call.args))
    try
        run_program(t, program, call, call.args, weights)
        isequal(t.loss, expected) || failed!(report, :value_differs, "$call, $(program.name): the value over Buffers is \
            $(t.loss), the plain function's is $expected", "the function must do the same with a Buffer's memory as with an array")
        sweep!(t)
    catch error
        if error isa MutationError && program.code === :ignores_alias
            noted!(report, "$call, $(program.name), is refused by name")
        else
            failed!(report, :raises_in_context, "$call, $(program.name): $(first_line(error))", "make the call work on Buffers")
        end
        return nothing
    end
    prove_memory!(report, call, program, t)
    mismatches, largest, kinks = compare(loss, copy(call.args), t.gradient, rng, tolerance)
    kinks > 0 && noted!(report, "$call, $(program.name): $kinks directions meet a kink")
    isempty(mismatches) ? passed!(report, program.name, largest) :
        failed!(report, program.code, "$call, $(program.name): " * describe_mismatches(mismatches, k -> name_of(call, k)), program.remedy)
    return nothing
end

"""After the sweep every Buffer holds the bits that it was born with; so it does after a second sweep, with the same gradient."""
function prove_memory!(report, call, program, t::Traced)
    restored() = all(((b, before),) -> same_bits(value(b), before), t.memory)
    gradient = copy(t.gradient)
    good = restored() && t.context.position == 0
    if good && all(r -> r.owner === t.context, t.context.roots)
        fill!(t.gradient, nothing)
        replay!(t.context, sum(r -> length(r.places), t.context.roots; init = 0) + count(r -> !r.guest, t.context.roots))
        sweep!(t)
        good = restored() && all(map(same_cotangent, t.gradient, gradient))
    end
    good ? passed!(report, "memory is restored, pulled twice") : failed!(report, :memory_not_restored,
        "$call, $(program.name): after the pull, or after a second one, memory or gradient are not what they were",
        "the function writes memory that its rule does not declare, or the pull keeps state")
    return nothing
end

"""A rule with an identity pull holds for plain arrays, too; any other refuses them."""
function prove_plain_arrays!(report, call::Call, rng, tolerance)
    call.rule === nothing && return nothing
    cx, args = Context(), deepcopy(call.args)
    (all(k -> args[k] isa Array && is_active(args[k]), call.writes) && isempty(call.keywords)) || return nothing
    outcome = try
        Zygote._pullback(cx, call.f, args...)[2]
    catch error
        error isa MutationError || rethrow()
        error
    end
    if !is_identity(call.rule)
        outcome isa MutationError ? passed!(report, "plain arrays are refused") : failed!(report, :plain_array,
            "$call runs on plain arrays under differentiation", "let no other method of _pullback take the call")
        return nothing
    end
    outcome isa MutationError && return noted!(report, "$call: $(first_line(outcome))")
    outcome(nothing)
    all(map(same_bits, args, call.args)) && cx.position == 0 ? passed!(report, "plain arrays are restored") :
        failed!(report, :memory_not_restored, "$call on plain arrays: the pull does not restore them", "declare all that is written")
    return nothing
end

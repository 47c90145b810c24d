# `check_rule`: the proof of a mutating rule at given arguments, and everything that it is made of.

include("checking/report.jl")
include("checking/calls.jl")
include("checking/finite_differences.jl")
include("checking/values.jl")
include("checking/contract.jl")
include("checking/programs.jl")
include("checking/in_context.jl")
include("checking/variants.jl")

"""
    check_rule(f!, args...; keywords = (;), writes = nothing, variants = true, tolerance = 1e-6, seed = 0) -> Report

Prove the mutating rule of `f!` at `args` (plain arrays and numbers, which are copied), called with `keywords`:

- the function writes what the rule declares and nothing else, and the same each time;
- the pull returns a cotangent of the right size and type for each argument, writes nothing that it is given, gives the same
  twice, is linear, and is the derivative by finite differences: there, at zeros, at equal elements, and for empty, `Float32`,
  complex and strided arrays, as far as the function takes them;
- over Buffers the value is the plain function's bit for bit, and so is memory after the pull, also after a second one; the
  gradient is right if the result is unused, if the function is called twice on the same arrays, if arguments are read before
  and overwritten after, on views, and if one array is passed as two arguments (or that is refused);
- plain arrays are refused, unless the pull is the identity.

`writes` (positions) checks functions over Buffers that need no rule. `variants = false` stays at `args`. `tolerance` is relative to the derivatives.
Raises [`RuleFailure`](@ref), which lists every failure with the values and a remedy, and `ArgumentError` if `f!` has no rule for `args`; returns
a [`MutationBridge.Report`](@ref) of what passed.

```jldoctest
julia> shift!(x, a) = (x .+= a; nothing);

julia> @mutating_rule shift!(x, a) writes(x) pull(ct, x, a) = (ct, sum(ct))

julia> report = check_rule(shift!, [1.0, 2.0], 0.5);

julia> isempty(report.failures)
true
```
"""
function check_rule(f!, args...; keywords = (;), writes = nothing, variants = true, tolerance = 1e-6, seed = 0)
    call = call_of(f!, collect(Any, args), keywords, writes)
    report = Report(string("check_rule of ", call))
    rng = Random.Xoshiro(seed)
    if isempty(actives(call))
        failed!(report, :no_inputs, "$call has no floating-point argument", "check the rule at arguments that have a derivative")
    elseif prove_contract!(report, call, rng)
        if call.rule !== nothing
            prove_pull!(report, call, rng, tolerance)
            variants && prove_variants!(report, call, rng, tolerance)
        end
        prove_programs!(report, call, rng, tolerance)
    end
    isempty(report.failures) || throw(RuleFailure(report))
    return report
end

function call_of(f!, args, keywords, writes)
    rule = mutating_rule(f!, map(x -> x isa Array && is_active(x) ? Buffer(x) : x, args)...)
    rule = rule === nothing ? mutating_rule(f!, args...) : rule
    rule === nothing && writes === nothing && throw(ArgumentError(
        "check_rule: $(nameof(f!)) has no mutating rule for $(join(map(typeof, args), ", ")). Write one:\n
            @mutating_rule $(nameof(f!))($(join(("x$k" for k in eachindex(args)), ", "))) writes(x1) pull(ct, $(join(("x$k" for k in eachindex(args)), ", "))) = ...\n
        or name what it writes, as in `writes = (1,)`, if it needs none."))
    return Call(f!, rule, rule === nothing ? Tuple(writes) : rule.writes, args, NamedTuple(keywords))
end

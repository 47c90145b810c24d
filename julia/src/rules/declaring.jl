# The macro `@mutating_rule`: from a declaration to the methods that Zygote, plain calls and `check_rule` find.

"""
    @mutating_rule f!(x, a) writes(x) pull(ct, x, a) = (a .* ct, dot(x, ct))
    @mutating_rule f!(x) writes(x) pull(ct, x; after) = after .* ct
    @mutating_rule f!(x) writes(x) pull = identity
    @mutating_rule f!(x, y) writes(x, y) function pull((ctx, cty), x, y; scale) ... end
    @mutating_rule f!(y, x) writes(y) pull(ct, y, x) = (zero(ct), ct) aliases = true

State that `f!` writes the arguments named in `writes`, and how cotangents go back.

`pull` gets the cotangent of the written argument after the call (a tuple if there are several; `nothing` for integer arrays), then the call's arguments
as they were *before* the call. It returns a tuple with one cotangent for each argument, `nothing` where there is none: those of the written arguments
are the ones from before the call. One value that is no tuple is the written argument's, the others then have none. It may ask for `after`, the written
argument's value after the call, and for keyword arguments of the call by name, and return a `NamedTuple` of their cotangents as one more element.
It does not write its arguments.

`pull = identity`: the cotangent passes unchanged and no other argument has one. Such a rule, and no other, may also write a plain `Array`.
`aliases = true`: the function gives the same result if an argument that it reads is the very array that it writes.

Parameters may have types (then the rule is for these) and a last one may be `xs...`. Raises `ArgumentError` for a declaration that it does not understand;
calls raise `MutationError` for plain arrays, for overlapping memory, and for a pull that returns the wrong number or size of cotangents.
Prove the rule with [`check_rule`](@ref).

```jldoctest
julia> cube!(x) = (x .= x .^ 3; nothing);

julia> @mutating_rule cube!(x) writes(x) pull(ct, x) = 3 .* x .^ 2 .* ct

julia> gradient(x -> (b = Buffer(x); cube!(b); b[1] + x[1]), [2.0])
([13.0],)
```
"""
macro mutating_rule(call, clauses...)
    return declared(call, clauses)
end

struct Parameter
    name::Symbol
    type::Any
    rest::Bool
end

function parameter_of(ex)
    Meta.isexpr(ex, :...) && return Parameter(ex.args[1], :Any, true)
    Meta.isexpr(ex, :(::), 2) && return Parameter(ex.args[1], ex.args[2], false)
    ex isa Symbol && return Parameter(ex, :Any, false)
    throw(ArgumentError("@mutating_rule: cannot read the parameter `$ex`; write `x`, `x::Type` or, last, `xs...`"))
end

function declared(call, clauses)
    call, wheres = Meta.isexpr(call, :where) ? (call.args[1], call.args[2:end]) : (call, Any[])
    Meta.isexpr(call, :call) || throw(ArgumentError("@mutating_rule: begin with a call such as `scale!(x, a)`, not `$call`"))
    parameters = [parameter_of(ex) for ex in call.args[2:end] if !Meta.isexpr(ex, :parameters)]
    writes, pull, keywords, aliases = clauses_of(clauses)
    writes === nothing && throw(ArgumentError("@mutating_rule $call: say what it writes, as in `writes($(isempty(parameters) ? :x : parameters[1].name))`"))
    pull === nothing && throw(ArgumentError("@mutating_rule $call: say how cotangents go back, as in `pull(ct, x) = 2 .* ct` or `pull = identity`"))
    positions = map(writes) do name
        k = findfirst(p -> p.name === name && !p.rest, parameters)
        k === nothing && throw(ArgumentError("@mutating_rule $call: writes($name), but `$name` is none of its parameters"))
        k
    end
    return methods_of(esc(call.args[1]), parameters, esc.(wheres), (positions...,), esc(pull), keywords, aliases)
end

function clauses_of(clauses)
    writes, pull, keywords, aliases = nothing, nothing, nothing, false
    for clause in clauses
        if Meta.isexpr(clause, :call) && clause.args[1] === :writes
            writes = clause.args[2:end]
        elseif Meta.isexpr(clause, :(=)) && clause.args[1] === :aliases
            aliases = clause.args[2]
        elseif (pulled = pull_of(clause)) !== nothing
            pull, keywords = pulled
        else
            throw(ArgumentError("@mutating_rule: cannot read `$clause`; there are `writes(...)`, `pull(...) = ...`, `pull = f` and `aliases = true`"))
        end
    end
    return writes, pull, keywords, aliases
end

"""The pull's function as an expression and, where they can be read, the names of its keyword arguments."""
function pull_of(clause)
    if Meta.isexpr(clause, (:(=), :function)) && Meta.isexpr(clause.args[1], :call) && clause.args[1].args[1] === :pull
        arguments = clause.args[1].args[2:end]
        return Expr(:->, Expr(:tuple, arguments...), clause.args[2]), keyword_names(arguments)
    elseif Meta.isexpr(clause, :(=)) && clause.args[1] === :pull
        return function_of(clause.args[2])
    elseif Meta.isexpr(clause, :call, 2) && clause.args[1] === :pull
        return function_of(clause.args[2])
    end
    return nothing
end

function function_of(ex)
    Meta.isexpr(ex, :->) || return ex, nothing
    return ex, keyword_names(Meta.isexpr(ex.args[1], :tuple) ? ex.args[1].args : Any[ex.args[1]])
end

function keyword_names(arguments)
    isempty(arguments) || !Meta.isexpr(arguments[1], :parameters) && return ()
    isempty(arguments) && return ()
    return Tuple(map(keyword_name, arguments[1].args))
end

keyword_name(ex::Symbol) = ex
keyword_name(ex::Expr) = Meta.isexpr(ex, :...) ? Symbol(ex.args[1], "...") : keyword_name(ex.args[1])

function methods_of(f, parameters, wheres, positions, pull, keywords, aliases)
    names = [gensym(p.name) for p in parameters]
    given = [p.rest ? :($name...) : name for (p, name) in zip(parameters, names)]
    signature = signature_of(parameters, names, k -> k in positions ? :(Union{$(esc(parameters[k].type)),Buffer}) : esc(parameters[k].type))
    buffers = signature_of(parameters, names, k -> k in positions ? :Buffer : esc(parameters[k].type))
    rule = :(MutatingRule($f, $(Tuple(p.name for p in parameters)), $positions, $pull, $(QuoteNode(keywords)), $aliases))
    T = :(Core.Typeof($f))
    return quote
        MutationBridge.mutating_rule(::$T, $(signature...)) where {$(wheres...)} = $rule
        @inline Zygote._pullback(cx::AContext, f::$T, $(signature...)) where {$(wheres...)} = call_pullback(cx, f, ($(given...),))
        @inline Zygote._pullback(cx::AContext, ::Core.kwftype($T), keywords, f::$T, $(signature...)) where {$(wheres...)} =
            keyword_call_pullback(cx, f, ($(given...),), keywords)
        (f::$T)($(buffers...); keywords...) where {$(wheres...)} = call_on_memory(f, mutating_rule(f, $(given...)), ($(given...),), keywords)
        nothing
    end
end

signature_of(parameters, names, type) = [p.rest ? :($name...) : :($name::$(type(k))) for (k, (p, name)) in enumerate(zip(parameters, names))]

function call_pullback(cx, f, args::Tuple)
    result, back = mutating_pullback(cx, mutating_rule(f, args...), args, NamedTuple())
    return result, Δ -> (nothing, first(back(Δ))...)
end

function keyword_call_pullback(cx, f, args::Tuple, keywords)
    result, back = mutating_pullback(cx, mutating_rule(f, args...), args, keywords)
    return result, function (Δ)
        cotangents, of_keywords = back(Δ)
        return (nothing, of_keywords, nothing, cotangents...)
    end
end

# The table: entries by the name of their NumPy operation, and the macros that write them.

"One row of the table: what a NumPy operation is in Julia, and which of its arguments the entry understands."
struct Entry
    name::String
    f::Any
    scalar::Any
    positional::Vector{String}
    variadic::Bool
    keywords::Vector{String}
    file::String
end

const TABLE = Dict{String,Entry}()

"The entry that `f` is, or `scalar` of each element."
enter!(name, f, scalar, positional, variadic, keywords, file) =
    TABLE[name] = Entry(name, f, scalar, positional, variadic, keywords, file)

"Say in an entry that this call has no rule, and why; Python raises NoRuleError."
notcovered(why) = throw(NotCovered(why))
struct NotCovered <: Exception
    why::String
end
Base.showerror(io::IO, error::NotCovered) = print(io, "NotCovered: ", error.why)
@non_differentiable notcovered(::Any)

"A package that the session has loaded; this one does not depend on it."
loaded(name) = only(package for (id, package) in Base.loaded_modules if id.name == name)

"Read a file of entries."
load(path::AbstractString) = Base.include(@__MODULE__, path)

"""
    @numpy np.sum(a; axis=nothing, keepdims=false) = ...

Say what the NumPy operation `np.sum` is in Julia, for arrays with reversed axes. Positional arguments are the first
ones of NumPy's signature, keywords the other ones that the entry understands. An entry with a keyword `out` is given
the value that NumPy computed: results that are defined up to a gauge (signs of eigenvectors) are brought to its gauge.
"""
macro numpy(definition)
    name, arguments, body = parts(definition)
    return enter(name, arguments, body, nothing, __source__)
end

"""
    @elementwise np.tanh(x) = tanh(x)

The same for one element at a time: the pull is that of the scalar function, and operands broadcast as in NumPy.
"""
macro elementwise(definition)
    name, arguments, body = parts(definition)
    expression = body isa Expr && body.head === :block ? body.args[end] : body
    same = expression isa Expr && expression.head === :call && expression.args[2:end] == arguments
    scalar = same ? expression.args[1] : Expr(:->, Expr(:tuple, arguments...), body)
    return enter(name, arguments, nothing, scalar, __source__)
end

"`@same np.amax = np.max`: one operation under two names."
macro same(definition)
    new, old = string.(definition.args)
    return quote
        let entry = TABLE[$(string(stripped(old)))]
            name = $(stripped(new))
            enter!(name, entry.f, entry.scalar, entry.positional, entry.variadic, entry.keywords, entry.file)
        end
    end
end

stripped(name) = replace(string(name), r"\s" => "")

"Name, arguments and body of the definition `np.f(arguments) = body`."
function parts(definition)
    definition.head in (:(=), :function) || error("@numpy needs a definition `np.f(x) = ...`, not `$definition`")
    call, body = definition.args
    return stripped(call.args[1]), call.args[2:end], body
end

function enter(name, arguments, body, scalar, source)
    keywords = String[]
    positional = copy(arguments)
    if !isempty(positional) && positional[1] isa Expr && positional[1].head === :parameters
        keywords = [string(k isa Expr ? k.args[1] : k) for k in popfirst!(positional).args]
    end
    variadic = !isempty(positional) && positional[end] isa Expr && positional[end].head === :...
    names = [string(p isa Expr ? p.args[1] : p) for p in positional]
    described = (names, variadic, keywords, basename(string(source.file)))
    scalar === nothing || return esc(:(enter!($name, each, $scalar, $(described...))))
    # A fresh function each time: what was compiled for an entry that is replaced must not stay.
    symbol = gensym(name)
    return esc(:($symbol($(arguments...)) = $body; enter!($name, $symbol, nothing, $(described...))))
end

"What Python asks once: name, positional arguments, whether the last is variadic, keywords and file of each entry."
rows() = Tuple((e.name, Tuple(e.positional), e.variadic, Tuple(e.keywords), e.file) for e in values(TABLE))

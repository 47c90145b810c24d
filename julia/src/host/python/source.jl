# Julia code and names as values: what `julia.function`, `julia.eval` and `julia.include` ask for.

"The value of the last expression of `code`, evaluated in Main."
evaluated(code::AbstractString) = include_string(Main, code, "julia code")

"The value of the last expression of a file, evaluated in Main."
included(path::AbstractString) = Base.include(Main, path)

"Whether the text is a name, such as `f!`, `LinearAlgebra.norm` or `Base.:+`."
function is_name(text::AbstractString)
    parsed = Meta.parse(text; raise=false)
    return is_path(parsed)
end
is_path(x) = x isa Symbol || (x isa Expr && x.head === :. && length(x.args) == 2 && is_path(x.args[1]) && x.args[2] isa QuoteNode)

"The value of a name; a package that it begins with is imported."
function named(text::AbstractString)
    parsed = Meta.parse(text)
    first = parsed
    while first isa Expr
        first = first.args[1]
    end
    if parsed isa Expr && !isdefined(Main, first)
        Core.eval(Main, :(import $first))
    end
    return Core.eval(Main, parsed)
end

"Names of the positional parameters of the first method that a person wrote, for arguments declared by name."
function parameter_names(f)
    for method in methods(f)
        names = String.(Base.method_argnames(method)[2:end])
        any(name -> startswith(name, "#"), names) || return join(names, " ")
    end
    return ""
end

callable(f) = f isa Type || !isempty(methods(f))

"Answer a question of Python's: its name, and texts or numbers of kept values after it."
question(::Val{:value_of_code}, code) = keep!(evaluated(code))
question(::Val{:value_of_file}, path) = keep!(included(path))
question(::Val{:value_of_name}, name) = keep!(named(name))
question(::Val{:is_name}, text) = is_name(text)
question(::Val{:title}, key) = string(kept(key))
question(::Val{:type_name}, key) = string(typeof(kept(key)))
question(::Val{:callable}, key) = callable(kept(key))
question(::Val{:is_function}, key) = kept(key) isa Function
question(::Val{:parameter_names}, key) = parameter_names(kept(key))
question(::Val{:holds_floats}, key) = holds_floats(kept(key))
question(::Val{:again}, key) = keep!(kept(key))
question(::Val{:describe}, key) = describe(key)
question(::Val{:engine}, key, name) = ((kept(key)::Plan).engine[] = Symbol(name); nothing)
question(::Val{:plan}, key, texts...) = plan(kept(key), texts...)

"Given (name, texts...): the answer about the kept value of this number, or about the texts alone for number 0."
function ask(key::Int, given::PyPtr)::PyPtr
    return guarded() do
        texts = String[string_of(tuple_item(given, i)) for i in 1:tuple_size(given)]
        name = Val(Symbol(texts[1]))
        answer = key == 0 ? question(name, texts[2:end]...) : question(name, key, texts[2:end]...)
        to_python(answer)
    end
end
precompile(ask, (Int, PyPtr))

# Runs in a process of its own before a session: says what is missing and which versions there are, compiles the rest.
# ARGS: the folder of the Julia package MutationBridge. Answers are lines of stdout that begin with "bridge\t".

using TOML: parsefile

say(words...) = (println(join(("bridge", words...), '\t')); flush(stdout))

"Project.toml of a package that was located, or `nothing` if its sources are not there."
function project_of(id)
    path = id === nothing ? nothing : Base.locate_package(id)
    path === nothing ? nothing : parsefile(joinpath(dirname(dirname(path)), "Project.toml"))
end

function examine(name, id)
    project = project_of(id)
    project === nothing ? say("missing", name) : say("version", name, get(project, "version", "$VERSION"))
    project !== nothing
end

function prepare(folder)
    Base.identify_package("MutationBridge") === nothing && push!(LOAD_PATH, folder)
    bridge, python = Base.identify_package("MutationBridge"), Base.identify_package("PythonCall")
    complete = examine("PythonCall", python) & examine("MutationBridge", bridge)
    needed = [name => Base.identify_package(bridge, name) for name in sort!(collect(keys(project_of(bridge)["deps"])))]
    for (name, id) in needed
        complete &= examine(name, id)
    end
    complete || return
    # PythonCall is compiled without being loaded: in here it would look for a Python to start.
    if !Base.isprecompiled(python)
        say("step", "compiling PythonCall")
        Base.compilecache(python)
    end
    for (name, id) in [needed; "MutationBridge" => bridge]
        haskey(Base.loaded_modules, id) && continue
        say("step", (Base.isprecompiled(id) ? "loading " : "compiling ") * name)
        Base.require(id)
    end
    say("ready")
end

say("version", "Julia", VERSION)
prepare(ARGS[1])

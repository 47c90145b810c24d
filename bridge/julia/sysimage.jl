# Runs in a process of its own to build a system image: in the project of the session, which says what goes in.
# ARGS: the image's folder, a file of precompile statements, the folder of MutationBridge, a folder for PackageCompiler.
# Answers are lines of stdout that begin with "bridge\t".

using Libdl, Pkg, TOML

say(words...) = (println(join(("bridge", words...), '\t')); flush(stdout))

const PROJECTS, PREFERENCES = ("JuliaProject.toml", "Project.toml"), ("JuliaLocalPreferences.toml", "LocalPreferences.toml")

"A package of the image: its entry for a manifest, and the packages that it needs."
struct Part
    id::Base.PkgId
    entry::Dict{String,Any}
    deps::Dict{String,String}
end

"The first file of these names in a folder, or `nothing`."
function file_in(folder, names)
    found = filter(isfile, joinpath.(folder, names))
    return isempty(found) ? nothing : first(found)
end

"A table of uuids by name, which a manifest may shorten to names that it has once."
by_name(table::AbstractDict, entries) = Dict{String,String}(table)
by_name(names::AbstractVector, entries) = Dict{String,String}(name => only(entries[name])["uuid"] for name in names)

function entry_of(id, entries, home)
    found = filter(one -> one["uuid"] == string(id.uuid), get(entries, id.name, []))
    isempty(found) || return copy(only(found)), home
    # It is not in the manifest: of the standard library, or MutationBridge from the load path.
    path = Base.locate_package(id)
    path === nothing && error("the manifest does not have $(id.name), and it is found nowhere else")
    folder = dirname(dirname(path))
    project = TOML.parsefile(file_in(folder, PROJECTS))
    entry = Dict{String,Any}(filter(pair -> first(pair) in ("uuid", "version", "deps", "weakdeps", "extensions"), project))
    startswith(folder, Sys.STDLIB) || (entry["path"] = folder)
    return entry, folder
end

"What packages need in a manifest of their own, with their dependencies; paths are absolute."
function parts_of(ids, entries, home)
    found = Dict{Base.PkgId,Part}()
    waiting = copy(ids)
    while !isempty(waiting)
        id = pop!(waiting)
        haskey(found, id) && continue
        entry, root = entry_of(id, entries, home)
        for table in ("deps", "weakdeps")
            haskey(entry, table) && (entry[table] = by_name(entry[table], entries))
        end
        weak = get(entry, "weakdeps", Dict{String,String}())
        deps = filter(pair -> !haskey(weak, first(pair)), get(entry, "deps", Dict{String,String}()))
        entry["deps"] = deps
        haskey(entry, "path") && (entry["path"] = normpath(joinpath(root, entry["path"])))
        found[id] = Part(id, entry, deps)
        append!(waiting, (Base.PkgId(Base.UUID(uuid), name) for (name, uuid) in deps))
    end
    return collect(values(found))
end

"Write a project that has these packages and nothing else: what else the user's has need not be compiled."
function write_project(folder, ids, parts)
    mkpath(folder)
    deps = Dict(id.name => string(id.uuid) for id in ids)
    preferences = Dict(part.id.name => Base.get_preferences(part.id.uuid) for part in parts)
    filter!(pair -> !isempty(last(pair)), preferences)
    extras = Dict(part.id.name => string(part.id.uuid) for part in parts if haskey(preferences, part.id.name) && !haskey(deps, part.id.name))
    manifest = Dict{String,Any}("julia_version" => string(VERSION), "manifest_format" => "2.0")
    manifest["deps"] = Dict(part.id.name => [part.entry] for part in parts)
    contents = ("Project.toml" => Dict("deps" => deps, "extras" => extras), "Manifest.toml" => manifest)
    for (name, content) in (contents..., "LocalPreferences.toml" => preferences)
        open(io -> TOML.print(io, content), joinpath(folder, name), "w")
    end
end

"Say what the image will be made of, so that it is not loaded once that has changed."
function tell_inputs(parts, manifest, active)
    say("library", first(filter(contains("libjulia-internal"), dllist())))
    manifest === nothing || say("file", manifest)
    kept = [joinpath(depot, "packages") for depot in DEPOT_PATH]
    for part in parts
        path = Base.locate_package(part.id)
        (path === nothing || startswith(path, Sys.STDLIB) || any(folder -> startswith(path, folder), kept)) && continue
        say("folder", dirname(dirname(path)))
    end
    for environment in Base.load_path()
        project = isdir(environment) ? file_in(environment, PROJECTS) : environment
        project === nothing || project == active || say("environment", project)
    end
    say("inputs")
end

"PackageCompiler from the project, or from a project of its own, into which Pkg installs it."
function compiler_module(folder)
    id = Base.identify_package("PackageCompiler")
    id === nothing || Base.locate_package(id) === nothing || return Base.require(id)
    say("step", "installing PackageCompiler")
    active = Base.active_project()
    try
        Pkg.activate(folder; io=devnull)
        Base.identify_package("PackageCompiler") === nothing && Pkg.add("PackageCompiler")
        return Base.require(Base.identify_package("PackageCompiler"))
    catch
        say("absent", "PackageCompiler")
        rethrow()
    finally
        Base.set_active_project(active)
    end
end

"What a package depends on."
function direct_deps(id)
    project = TOML.parsefile(file_in(dirname(dirname(Base.locate_package(id))), PROJECTS))
    names = setdiff(keys(get(project, "deps", Dict())), keys(get(project, "weakdeps", Dict())))
    return [Base.identify_package(id, name) for name in sort!(collect(names))]
end

function build(folder, statements, package, compiler)
    Base.identify_package("MutationBridge") === nothing && push!(LOAD_PATH, package)
    bridge, python = Base.identify_package("MutationBridge"), Base.identify_package("PythonCall")
    # Not PythonCall itself: when an image is loaded, its packages start, and PythonCall cannot know then which Python it is in.
    ids = unique([bridge; direct_deps(bridge); direct_deps(python)])
    active = Base.active_project()
    manifest = Base.project_file_manifest_path(active)
    entries = manifest === nothing ? Dict{String,Any}() : Base.get_deps(TOML.parsefile(manifest))
    parts = parts_of(ids, entries, manifest === nothing ? dirname(active) : dirname(manifest))
    tell_inputs(parts, manifest, active)
    while !isfile(joinpath(folder, "go"))
        sleep(0.05)
    end
    project = joinpath(folder, "project")
    write_project(project, ids, parts)
    create_sysimage = Base.invokelatest(getproperty, compiler_module(compiler), :create_sysimage)
    say("step", "compiling $(length(parts)) packages, then the image")
    image = joinpath(folder, "image." * Libdl.dlext)
    # What is left behind where this is stopped is in the folder, which Python removes. PackageCompiler's processes find their project
    # by the load path, and JULIA_PROJECT would name them the user's.
    mktempdir(folder) do rest
        withenv("TMPDIR" => rest, "TMP" => rest, "TEMP" => rest, "JULIA_PROJECT" => nothing) do
            # Nothing is imported into Main: a program finds there what it finds without an image.
            Base.invokelatest(
                create_sysimage, [id.name for id in ids];
                sysimage_path=image, project, precompile_statements_file=statements, import_into_main=false,
            )
        end
    end
    rm(project; recursive=true)
    say("image", image)
end

build(ARGS...)

# The pages, in build/: julia --project=julia/docs -e 'using Pkg; Pkg.develop(path="julia"); Pkg.instantiate()', once, and then
# julia --project=julia/docs julia/docs/make.jl

using Documenter, MutationBridge

DocMeta.setdocmeta!(MutationBridge, :DocTestSetup, :(using MutationBridge); recursive = true)

makedocs(;
    root = @__DIR__,
    sitename = "MutationBridge.jl",
    modules = [MutationBridge],
    pages = [
        "index.md", "guide.md", "rules.md", "engines.md", "second_order.md", "limitations.md", "reference.md",
    ],
    format = Documenter.HTML(; edit_link = nothing, repolink = nothing, inventory_version = string(pkgversion(MutationBridge))),
    remotes = nothing,
    doctest = true,
    checkdocs = :exports,
    warnonly = false,
)

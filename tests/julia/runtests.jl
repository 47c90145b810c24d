# The Julia package's tests lie with it, for `Pkg.test`; arguments name some of them: `julia tests/julia/runtests.jl buffer`.

include("../../julia/test/runtests.jl")

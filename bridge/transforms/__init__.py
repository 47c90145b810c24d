"""What users call: `grad`, `vjp`, `jvp`, Jacobians and Hessians, and loops of bounded memory."""

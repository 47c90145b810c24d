/* The commonest events of a differentiation in C: what `bridge/arrays` and `bridge/rewind` do in Python, step by step.
 *
 * The classes stay Python's: what is done here reads and fills their slots. Whatever is not the commonest case is
 * handed to the Python method that it stands for, so that the two ways never differ in what they do, only in the time
 * it takes.
 */
#ifndef BRIDGE_STEPS_H
#define BRIDGE_STEPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL bridge_steps_array_api
#ifndef STEPS_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#define PY_UFUNC_UNIQUE_SYMBOL bridge_steps_ufunc_api
#ifndef STEPS_MODULE
#define NO_IMPORT_UFUNC
#endif
#include <numpy/ufuncobject.h>

/* A slot of a Python class with `__slots__`, by its offset in the object. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* What Python says about the classes whose slots are read here, filled by `bind`. A zero `ready` sends every call to
 * Python. */
typedef struct {
    bool ready;
    PyTypeObject *buffer, *scalar, *weak_scalar, *root, *entered, *view, *one, *pair, *element_read, *element_write,
        *write;
    PyTypeObject *array_memory, *borrowed_root, *call, *lean, *operation, *update, *shaped;
    Py_ssize_t value, place;                                                               /* Buffer, Scalar */
    Py_ssize_t context, serial, shape, dtype, active, born_active, shadow, owned, strides; /* Root */
    Py_ssize_t read_as_constant, shared_by, written, borrowed;                             /* Entered, Borrowed */
    Py_ssize_t parent, depth, key, overlapping, part_root, top, part_shape, part_dtype;    /* View */
    Py_ssize_t out, position;                                                              /* Entry */
    Py_ssize_t output, wanted;                                                             /* Operation */
    Py_ssize_t one_rule, one_x, one_place;
    Py_ssize_t pair_rule, pair_x, pair_x_place, pair_y, pair_y_place;
    Py_ssize_t read_parent, read_key;
    Py_ssize_t activates, array, write_key, saved, source;                /* Write */
    Py_ssize_t write_parent;                                              /* ElementWrite */
    Py_ssize_t call_of_entry;                                             /* Operation */
    Py_ssize_t update_activates, update_array, update_saved, keeps, mask; /* Update */
    Py_ssize_t call_function, call_rule, call_args, call_inputs, call_kwargs, call_plain, call_names;
    Py_ssize_t shaped_shape, shaped_dtype;
    Py_ssize_t plans, per_argument, broadcasts, takes_arrays, adding, facts; /* Rule */
    Py_ssize_t handed_out, is_lean, log, merged, originals, thread, writes;  /* Lean */
    PyObject *rules;                                                         /* by ufunc */
    PyObject *mutating; /* the same, of functions that write into their arguments */
    PyObject *no_keywords;
    PyObject *serials;  /* the counter that numbers roots */
    PyObject *internal; /* whether a file is one of this package's, by name */
    PyObject *is_internal;
    PyObject *current; /* the context variable */
    PyObject *blame;
    PyObject *shortcuts; /* what the book's pulls compute, by function: see backward.c */
    Py_ssize_t deep;     /* places with more above them are left to Python */
    Py_ssize_t small;    /* bytes of a plain array of which each operation that reads it keeps a copy */
} Bound;

extern Bound bound;
extern PyTypeObject MethodType;

/* slots.c */
int steps_bind(PyObject *given);
PyObject *steps_position(void);
PyObject *steps_fresh(PyObject *context, PyObject *value);
PyObject *steps_scalar(PyObject *context, PyObject *value, PyObject *active);
PyObject *steps_make(PyTypeObject *type);
PyObject *steps_make_entry(PyTypeObject *type);
int steps_watch(PyObject *log);
void steps_forget_positions(void);
int steps_log(PyObject *context, PyObject *entry);
bool steps_is_lean(PyObject *context);
PyObject *steps_context_of(PyObject *place);
PyObject *steps_active(PyObject *place);
PyObject *steps_root(PyObject *place);
bool steps_is_borrowed(PyObject *root);
bool steps_is_number(PyObject *thing);
bool steps_is_index(PyObject *key);
void *steps_element(PyObject *array, PyObject *key);
bool steps_is_plain_array(PyObject *thing);
bool steps_is_handed_out(PyObject *context, PyObject *place);
bool steps_is_apart(PyObject *context, PyObject *array);
PyObject *steps_attribute(PyObject *thing, PyObject *name);

/* operators.c */
typedef enum {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    POWER,
    NEGATIVE,
    GETITEM,
    SETITEM,
    CALLS,
    FIRST,
    MATMUL,
    IADD,
    ISUBTRACT,
    IMULTIPLY,
    IDIVIDE,
    FUNCTION,
    OPERAND,
    HERE
} Kind;

/* An operand: what it holds, and its place if it is tracked; all borrowed. `plain`: it is an array that is not. */
typedef struct {
    PyObject *value, *place, *context;
    bool active, plain;
} Operand;

bool steps_operand(PyObject *thing, Operand *operand);
PyObject *steps_context_of_two(Operand *x, Operand *y);
PyObject *steps_plan(PyObject *function, int number);
PyObject *steps_binary(PyObject *ufunc, Kind kind, PyObject *x, PyObject *y);
PyObject *steps_unary(PyObject *ufunc, Kind kind, PyObject *x);

/* operations.c */
bool steps_keeps_small(PyObject *plan, Operand *x, Operand *y);
PyObject *steps_operation(PyObject *function, PyObject *plan, Operand *x, Operand *y, PyObject *value, PyObject *out,
                          PyObject *position);
PyObject *steps_product(PyObject *function, Kind kind, PyObject *left, PyObject *right);
PyObject *steps_update(PyObject *ufunc, Kind kind, PyObject *target, PyObject *other);

/* reading.c, writing.c */
bool steps_is_view(PyObject *key);
Py_ssize_t steps_depth(PyObject *place);
PyObject *steps_view(PyObject *parent, PyObject *key, PyArrayObject *shown);
int steps_writable(PyObject *context, PyObject *target, PyObject *root);
PyObject *steps_getitem(PyObject *self, PyObject *key);
int steps_setitem(PyObject *self, PyObject *key, PyObject *value);

/* cotangents.c */
PyObject *steps_pulled(PyObject *pull, PyObject *ct, PyObject *output, PyObject *x, PyObject *y);
PyObject *steps_region(PyObject *place);
bool steps_fits(PyObject *ct, PyObject *shape, PyObject *dtype);
bool steps_fits_place(PyObject *ct, PyObject *place);
int steps_accumulate(PyObject *place, PyObject *ct);
int steps_accumulate_by_python(PyObject *place, PyObject *ct);
int steps_add_at(PyObject *region, PyObject *key, PyObject *ct);
int steps_clear_array(PyArrayObject *array);
void steps_set(PyObject *object, Py_ssize_t offset, PyObject *value);

/* backward.c */
/* What became of an entry: nothing yet, an error before it was undone or after, or all. */
typedef enum { LEFT, FAILED, FAILED_AFTER_UNDO, DONE } Step;

void steps_blame(PyObject *entry);
Step steps_forgotten(PyObject *entry, Py_ssize_t activates);
PyObject *steps_walk(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* calls.c */
Step steps_walk_operation(PyObject *entry);
Step steps_walk_update(PyObject *entry);

/* Names of attributes, interned. */
typedef struct {
    PyObject *memory, *undone_from, *exchanging, *accumulate, *region, *writable, *strides, *forget_before, *append,
        *adds, *checked, *note;
} Names;
extern Names names;

/* What a fast path answers when it is not for it. A new reference is never NULL without an exception. */
#define NOT_HERE ((PyObject *)&MethodType)

#endif

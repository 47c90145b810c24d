/* What Python says about the classes and the tables of the package. */
#include "steps.h"

#include <structmember.h>

Bound bound;
Names names;

static int find_slot(PyTypeObject *type, const char *name, Py_ssize_t *offset)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (found == NULL)
        return -1;
    if (!Py_IS_TYPE(found, &PyMemberDescr_Type) || ((PyMemberDescrObject *)found)->d_member->type != T_OBJECT_EX) {
        PyErr_Format(PyExc_TypeError, "%s.%s is no slot", type->tp_name, name);
        Py_DECREF(found);
        return -1;
    }
    *offset = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_DECREF(found);
    return 0;
}

static int find_type(PyObject *given, const char *name, PyTypeObject **type)
{
    PyObject *found = PyDict_GetItemString(given, name);
    if (found == NULL || !PyType_Check(found)) {
        PyErr_Format(PyExc_TypeError, "no class %s", name);
        return -1;
    }
    *type = (PyTypeObject *)Py_NewRef(found);
    return 0;
}

static int find_object(PyObject *given, const char *name, PyObject **object)
{
    PyObject *found = PyDict_GetItemString(given, name);
    if (found == NULL) {
        PyErr_Format(PyExc_TypeError, "no object %s", name);
        return -1;
    }
    *object = Py_NewRef(found);
    return 0;
}

static int intern_names(void)
{
    struct {
        PyObject **where;
        const char *name;
    } all[] = {
        {&names.memory, "memory"},
        {&names.undone_from, "undone_from"},
        {&names.exchanging, "exchanging"},
        {&names.accumulate, "accumulate"},
        {&names.region, "region"},
        {&names.writable, "writable"},
        {&names.strides, "strides"},
        {&names.forget_before, "forget_before"},
        {&names.append, "append"},
        {&names.adds, "adds"},
        {&names.note, "note"},
        {&names.checked, "_checked"},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        *all[k].where = PyUnicode_InternFromString(all[k].name);
        if (*all[k].where == NULL)
            return -1;
    }
    return 0;
}

/* Find classes, slots and tables in the dictionary that `bridge.in_c` gives. */
int steps_bind(PyObject *given)
{
    struct {
        const char *name;
        PyTypeObject **type;
    } types[] = {
        {"Buffer", &bound.buffer},
        {"Scalar", &bound.scalar},
        {"WeakScalar", &bound.weak_scalar},
        {"Root", &bound.root},
        {"Entered", &bound.entered},
        {"View", &bound.view},
        {"One", &bound.one},
        {"Pair", &bound.pair},
        {"ElementRead", &bound.element_read},
        {"ElementWrite", &bound.element_write},
        {"Write", &bound.write},
        {"ArrayMemory", &bound.array_memory},
        {"Borrowed", &bound.borrowed_root},
        {"Call", &bound.call},
        {"Lean", &bound.lean},
        {"Operation", &bound.operation},
        {"Update", &bound.update},
        {"Shaped", &bound.shaped},
    };
    struct {
        const char *name;
        PyObject **object;
    } objects[] = {
        {"rules", &bound.rules},     {"mutating", &bound.mutating}, {"no_keywords", &bound.no_keywords},
        {"serials", &bound.serials}, {"internal", &bound.internal}, {"is_internal", &bound.is_internal},
        {"current", &bound.current}, {"blame", &bound.blame},       {"shortcuts", &bound.shortcuts},
    };
    PyTypeObject *rule;
    PyObject *deep = PyDict_GetItemString(given, "deep"), *small = PyDict_GetItemString(given, "small");

    if (deep == NULL || small == NULL || intern_names() < 0)
        return -1;
    bound.deep = PyLong_AsSsize_t(deep);
    bound.small = PyLong_AsSsize_t(small);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (find_type(given, types[k].name, types[k].type) < 0)
            return -1;
    for (size_t k = 0; k < sizeof objects / sizeof *objects; k++)
        if (find_object(given, objects[k].name, objects[k].object) < 0)
            return -1;
    if (find_type(given, "Rule", &rule) < 0)
        return -1;
    struct {
        PyTypeObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {bound.buffer, "value", &bound.value},
        {bound.buffer, "place", &bound.place},
        {bound.root, "context", &bound.context},
        {bound.root, "serial", &bound.serial},
        {bound.root, "shape", &bound.shape},
        {bound.root, "dtype", &bound.dtype},
        {bound.root, "active", &bound.active},
        {bound.root, "born_active", &bound.born_active},
        {bound.root, "shadow", &bound.shadow},
        {bound.root, "owned", &bound.owned},
        {bound.root, "strides", &bound.strides},
        {bound.entered, "read_as_constant", &bound.read_as_constant},
        {bound.entered, "shared_by", &bound.shared_by},
        {bound.entered, "written", &bound.written},
        {bound.borrowed_root, "borrowed", &bound.borrowed},
        {bound.view, "parent", &bound.parent},
        {bound.view, "depth", &bound.depth},
        {bound.view, "key", &bound.key},
        {bound.view, "overlapping", &bound.overlapping},
        {bound.view, "root", &bound.part_root},
        {bound.view, "top", &bound.top},
        {bound.view, "shape", &bound.part_shape},
        {bound.view, "dtype", &bound.part_dtype},
        {bound.pair, "out", &bound.out},
        {bound.pair, "position", &bound.position},
        {bound.pair, "output", &bound.output},
        {bound.pair, "wanted", &bound.wanted},
        {bound.one, "rule", &bound.one_rule},
        {bound.one, "x", &bound.one_x},
        {bound.one, "place", &bound.one_place},
        {bound.pair, "rule", &bound.pair_rule},
        {bound.pair, "x", &bound.pair_x},
        {bound.pair, "x_place", &bound.pair_x_place},
        {bound.pair, "y", &bound.pair_y},
        {bound.pair, "y_place", &bound.pair_y_place},
        {bound.element_read, "parent", &bound.read_parent},
        {bound.element_read, "key", &bound.read_key},
        {bound.write, "activates", &bound.activates},
        {bound.write, "array", &bound.array},
        {bound.write, "key", &bound.write_key},
        {bound.write, "saved", &bound.saved},
        {bound.write, "source", &bound.source},
        {bound.element_write, "parent", &bound.write_parent},
        {bound.lean, "handed_out", &bound.handed_out},
        {bound.lean, "lean", &bound.is_lean},
        {bound.lean, "log", &bound.log},
        {bound.lean, "merged", &bound.merged},
        {bound.lean, "originals", &bound.originals},
        {bound.lean, "thread", &bound.thread},
        {bound.lean, "writes", &bound.writes},
        {bound.operation, "call", &bound.call_of_entry},
        {bound.update, "activates", &bound.update_activates},
        {bound.update, "array", &bound.update_array},
        {bound.update, "saved", &bound.update_saved},
        {bound.update, "keeps", &bound.keeps},
        {bound.update, "mask", &bound.mask},
        {bound.call, "function", &bound.call_function},
        {bound.call, "rule", &bound.call_rule},
        {bound.call, "args", &bound.call_args},
        {bound.call, "inputs", &bound.call_inputs},
        {bound.call, "kwargs", &bound.call_kwargs},
        {bound.call, "plain", &bound.call_plain},
        {bound.call, "names", &bound.call_names},
        {bound.shaped, "shape", &bound.shaped_shape},
        {bound.shaped, "dtype", &bound.shaped_dtype},
        {rule, "plans", &bound.plans},
        {rule, "broadcasts", &bound.broadcasts},
        {rule, "takes_arrays", &bound.takes_arrays},
        {rule, "adding", &bound.adding},
        {rule, "facts", &bound.facts},
        {rule, "per_argument", &bound.per_argument},
    };
    for (size_t k = 0; k < sizeof slots / sizeof *slots; k++)
        if (find_slot(slots[k].type, slots[k].name, slots[k].offset) < 0)
            return -1;
    Py_DECREF(rule);
    bound.ready = true;
    return 0;
}

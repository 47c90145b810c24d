/* The module `bridge.in_c._steps`: methods of tracked values that take the short way, or call the one that Python
 * has. */
#define STEPS_MODULE
#include "steps.h"

#include <structmember.h>

/* A method of a class, beside the Python function that does the same for whatever there is. */
typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *python;
    PyObject *ufunc;
    Kind kind;
    bool reflected;
} Method;

static PyObject *shortly(Method *method, PyObject *const *arguments, Py_ssize_t count)
{
    if (method->kind == HERE)
        return count == 0 ? steps_position() : NOT_HERE;
    PyObject *self = arguments[0], *found;
    switch (method->kind) {
    case NEGATIVE:
        return count == 1 ? steps_unary(method->ufunc, NEGATIVE, self) : NOT_HERE;
    case GETITEM:
        return count == 2 && Py_IS_TYPE(self, bound.buffer) ? steps_getitem(self, arguments[1]) : NOT_HERE;
    case SETITEM: {
        if (count != 3 || !Py_IS_TYPE(self, bound.buffer))
            return NOT_HERE;
        int done = steps_setitem(self, arguments[1], arguments[2]);
        return done < 0 ? NULL : done ? NOT_HERE : Py_NewRef(Py_None);
    }
    case CALLS: /* (self, ufunc, "__call__", x) or (self, ufunc, "__call__", x, y) */
        if ((count != 4 && count != 5) || !PyUnicode_Check(arguments[2]) ||
            PyUnicode_CompareWithASCIIString(arguments[2], "__call__") != 0)
            return NOT_HERE;
        if (count == 4)
            return steps_unary(arguments[1], CALLS, arguments[3]);
        found = steps_binary(arguments[1], CALLS, arguments[3], arguments[4]);
        return found != NOT_HERE ? found : steps_product(arguments[1], CALLS, arguments[3], arguments[4]);
    case FUNCTION: /* (self, function, types, (x, y), {}) */
        if (count != 5 || !PyTuple_CheckExact(arguments[3]) || PyTuple_GET_SIZE(arguments[3]) != 2 ||
            !PyDict_CheckExact(arguments[4]) || PyDict_GET_SIZE(arguments[4]) != 0)
            return NOT_HERE;
        return steps_product(arguments[1], CALLS, PyTuple_GET_ITEM(arguments[3], 0), PyTuple_GET_ITEM(arguments[3], 1));
    case MATMUL:
        return count == 2 && !method->reflected ? steps_product(method->ufunc, MATMUL, self, arguments[1]) : NOT_HERE;
    case IADD:
    case ISUBTRACT:
    case IMULTIPLY:
    case IDIVIDE:
        return count == 2 && Py_IS_TYPE(self, bound.buffer)
                   ? steps_update(method->ufunc, method->kind, self, arguments[1])
                   : NOT_HERE;
    case FIRST: /* what stands for a thing that is tracked already */
        return count > 1 && (Py_IS_TYPE(arguments[1], bound.buffer) || Py_IS_TYPE(arguments[1], bound.scalar))
                   ? Py_NewRef(arguments[1])
                   : NOT_HERE;
    case OPERAND: /* what stands for an object whose class the program may have written */
        return count == 2 && (Py_IS_TYPE(arguments[1], bound.buffer) || Py_IS_TYPE(arguments[1], bound.scalar) ||
                              steps_is_number(arguments[1]) || PyArray_CheckExact(arguments[1]))
                   ? Py_NewRef(arguments[1])
                   : NOT_HERE;
    default:
        if (count != 2)
            return NOT_HERE;
        return method->reflected ? steps_binary(method->ufunc, method->kind, arguments[1], self)
                                 : steps_binary(method->ufunc, method->kind, self, arguments[1]);
    }
}

static PyObject *call_method(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords)
{
    Method *method = (Method *)self;
    Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (bound.ready && (count > 0 || method->kind == HERE) && (keywords == NULL || PyTuple_GET_SIZE(keywords) == 0)) {
        PyObject *found = shortly(method, arguments, count);
        if (found != NOT_HERE)
            return found;
    }
    return PyObject_Vectorcall(method->python, arguments, flags, keywords);
}

static PyObject *new_method(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *python, *ufunc;
    int kind, reflected;
    if (!PyArg_ParseTuple(arguments, "OOip", &python, &ufunc, &kind, &reflected))
        return NULL;
    Method *method = (Method *)type->tp_alloc(type, 0);
    if (method == NULL)
        return NULL;
    method->vectorcall = call_method;
    method->python = Py_NewRef(python);
    method->ufunc = Py_NewRef(ufunc);
    method->kind = (Kind)kind;
    method->reflected = reflected;
    return (PyObject *)method;
}

static PyObject *bind_method(PyObject *self, PyObject *instance, PyObject *type)
{
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

/* Name, documentation, signature: all that is asked of a method is what its function says. */
static PyObject *attribute_of_method(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(((Method *)self)->python, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GenericGetAttr(self, name);
    }
    return found;
}

static int traverse_method(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Method *)self)->python);
    Py_VISIT(((Method *)self)->ufunc);
    return 0;
}

static int clear_method(PyObject *self)
{
    Py_CLEAR(((Method *)self)->python);
    Py_CLEAR(((Method *)self)->ufunc);
    return 0;
}

static void free_method(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    clear_method(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject MethodType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "bridge.in_c._steps.Method",
    .tp_doc = "Method(function, ufunc, kind, reflected): the short way of a method, where it is one.",
    .tp_basicsize = sizeof(Method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = new_method,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Method, vectorcall),
    .tp_descr_get = bind_method,
    .tp_getattro = attribute_of_method,
    .tp_traverse = traverse_method,
    .tp_clear = clear_method,
    .tp_dealloc = free_method,
};

static PyObject *bind(PyObject *module, PyObject *given)
{
    if (!PyDict_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "bind(dictionary)");
        return NULL;
    }
    return steps_bind(given) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *enable(PyObject *module, PyObject *on)
{
    bool before = bound.ready;
    bound.ready = on == Py_True && bound.buffer != NULL;
    return PyBool_FromLong(before);
}

static PyObject *watch(PyObject *module, PyObject *log) { return steps_watch(log) < 0 ? NULL : Py_NewRef(Py_None); }

static PyObject *enabled(PyObject *module, PyObject *nothing) { return PyBool_FromLong(bound.ready); }

static PyMethodDef functions[] = {
    {"bind", bind, METH_O, "Learn the classes of the package and where their slots lie."},
    {"enable", enable, METH_O, "Take the short ways, or not; returns whether they were taken."},
    {"enabled", enabled, METH_NOARGS, "Whether the short ways are taken."},
    {"watch", watch, METH_O, "Let the garbage collector know what a log holds."},
    {"walk", (PyCFunction)(void (*)(void))steps_walk, METH_FASTCALL,
     "Walk the log back, as far as entries are common."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "bridge.in_c._steps",
    .m_doc = "The commonest events of a differentiation.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__steps(void)
{
    import_array();
    import_umath();
    if (PyType_Ready(&MethodType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyModule_AddObjectRef(module, "Method", (PyObject *)&MethodType) < 0 ||
        PyModule_AddStringConstant(module, "SOURCES", STEPS_SOURCES) < 0) {
        Py_XDECREF(module);
        return NULL;
    }
    return module;
}

# SPDX-License-Identifier: Apache-2.0
"""Converts what jax.export writes to StableHLO, by JAX. The tree of arguments and results
goes into the report. Symbolic dims get sizes, because IREE does not compile shapes
that are computed from symbols.
"""
import re

from farcall_import import (Refused, one_line, plain, read_sizes, run, sized_name,
                            tensor, varying, write_report)

INSTALL = "pip install jax flatbuffers"

DTYPES = {"bool": "i1", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32",
          "int64": "i64", "uint4": "ui4", "uint8": "ui8", "uint16": "ui16",
          "uint32": "ui32", "uint64": "ui64", "float16": "f16", "bfloat16": "bf16",
          "float32": "f32", "float64": "f64", "complex64": "complex<f32>",
          "complex128": "complex<f64>", "float8_e4m3fn": "f8E4M3FN",
          "float8_e5m2": "f8E5M2", "float8_e4m3fnuz": "f8E4M3FNUZ",
          "float8_e5m2fnuz": "f8E5M2FNUZ"}


# ---------------------------------------------------------------------------
# Trees

def leaf(aval, shape):
    if str(aval.dtype) not in DTYPES:
        raise Refused(f"elements of {aval.dtype}, which no call can carry")
    return tensor(DTYPES[str(aval.dtype)], shape)


def tree(node, leaves):
    """The type of a pytree whose leaves are indices into `leaves`. The raw index of each
    leaf is its place among the function's values."""
    from jax import tree_util
    if isinstance(node, int):
        return {**leaves[node], "raw_index": node}
    if node is None:
        return {"kind": "null"}
    if isinstance(node, dict):
        return {"kind": "dict",
                "fields": [{"name": str(key), "type": tree(value, leaves)}
                           for key, value in node.items()]}
    if hasattr(node, "_fields"):  # a named tuple
        return {"kind": "dict",
                "fields": [{"name": key, "type": tree(getattr(node, key), leaves)}
                           for key in node._fields]}
    children = (node if isinstance(node, (tuple, list))
                else tree_util.default_registry.flatten_one_level(node)[0])
    return {"kind": "tuple", "flavor": "list" if isinstance(node, list) else "tuple",
            "items": [tree(each, leaves) for each in children]}


def parameter(name, node, leaves):
    made = {"name": name, "type": tree(node, leaves)}
    return {key: value for key, value in made.items() if value != ""}


def argument_names(exported, count):
    """The names of the Python function's arguments. The module keeps each as the location
    of its own argument: "x", or "params['w']" for a part of "params"."""
    from jax._src.interpreters import mlir
    found, names = {}, []
    with mlir.make_ir_context():
        module = exported.mlir_module(serialized=False)  # lives as long as its parts
        functions = {str(op.attributes["sym_name"]).strip('"'): op
                     for op in module.body.operations}
        # With symbolic shapes, or several platforms, main is only a wrapper.
        main = functions.get("_wrapped_jax_export_main", functions["main"])
        for index, argument in zip(exported.module_kept_var_idx,
                                   module_arguments(exported, main)):
            said = re.match(r'loc\("([A-Za-z_]\w*)', str(argument.location))
            if said:
                found[index] = said[1]
    first = 0
    for subtree in exported.in_tree.children()[0].children():
        inside = [found[i] for i in range(first, first + subtree.num_leaves)
                  if i in found]
        first += subtree.num_leaves
        names.append(inside[0] if len(set(inside)) == 1 else "")
    return [name if names.count(name) == 1 else "" for name in names]


def module_arguments(exported, main):
    """The arguments of the module's main that are arguments of the Python function: the
    last ones, after the platform's number and tokens."""
    arguments = list(main.regions[0].blocks[0].arguments)
    return arguments[len(arguments) - len(exported.module_kept_var_idx):]


def function_of(exported, name, row):
    from jax import tree_util
    args, kwargs = tree_util.tree_unflatten(exported.in_tree,
                                            range(len(exported.in_avals)))
    leaves = [leaf(each, shape_of(each, row)) for each in exported.in_avals]
    names = argument_names(exported, len(args))
    arguments = [parameter(*each, leaves) for each in zip(names, args)]
    arguments += [parameter(*each, leaves) for each in kwargs.items()]
    results = tree_util.tree_unflatten(exported.out_tree,
                                       range(len(exported.out_avals)))
    leaves = [leaf(each, shape_of(each, row)) for each in exported.out_avals]
    if not type(results) in (tuple, list):
        results = [results]
    return {"name": name, "arguments": [{**each, "keyword": True} if "name" in each
                                        else each for each in arguments],
            "results": [parameter("", each, leaves) for each in results]}


# ---------------------------------------------------------------------------
# Sizes

def symbols(exported):
    """The names of symbolic dims, and the name of the batch's dim: a symbol in the first
    dim of an argument, else the first symbol."""
    names, first = [], None
    for aval in exported.in_avals:
        for place, dim in enumerate(aval.shape):
            if isinstance(dim, int):
                continue
            inside = sorted(dim._get_vars())
            names += [name for name in inside if name not in names]
            if place == 0 and inside:
                first = first or inside[0]
    return names, first or (names[0] if names else None)


def shape_of(aval, row):
    return [dim if isinstance(dim, int) else int(dim._evaluate(row))
            for dim in aval.shape]


# ---------------------------------------------------------------------------
# Modules

def lowered(exported, row):
    """The StableHLO for the sizes `row`: an MLIR module with the function `main`."""
    import jax
    from jax import tree_util
    from jax._src.interpreters import mlir
    leaves = [jax.ShapeDtypeStruct(shape_of(each, row), each.dtype)
              for each in exported.in_avals]
    args, kwargs = tree_util.tree_unflatten(exported.in_tree, leaves)
    module = jax.jit(exported.call, keep_unused=True).lower(
        *args, **kwargs).compiler_ir("stablehlo")
    if exported.uses_global_constants:
        module = mlir.refine_polymorphic_shapes(module)
    return module


def rename(module, old, new):
    from jaxlib.mlir import ir
    table = ir.SymbolTable(module.operation)
    table.set_symbol_name(table[old], new)
    table.replace_all_symbol_uses(old, new, module.operation)


def merged(modules, names):
    """One module with the functions of all modules. Each `main` gets its own name."""
    from jaxlib.mlir import ir
    context = modules[0].context
    with context, ir.Location.unknown():
        whole = ir.Module.create()
        for module, name in zip(modules, names):
            copy = ir.Module.parse(module.operation.get_asm(binary=True))
            for operation in list(copy.body.operations):
                old = ir.StringAttr(operation.attributes["sym_name"]).value
                rename(copy, old, name if old == "main" else f"{name}.{old}")
            for operation in list(copy.body.operations):
                whole.body.append(operation)
    return whole


def write(module, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(module.operation.get_asm(enable_debug_info=False))


# ---------------------------------------------------------------------------

def portable(bytes_, mlir, report, sizes):
    """Converts a portable artifact, which has functions but no tree."""
    from jaxlib.mlir import ir
    from jax._src.interpreters import mlir as lowering
    from jax._src.lib import _jax
    if sizes:
        raise Refused("a portable artifact of StableHLO has no dims with names",
                      "--batch takes what jax.export serializes as a whole")
    with lowering.make_ir_context():
        module = _jax.mlir.deserialize_portable_artifact(bytes_)
        assert isinstance(module, ir.Module)
        write(module, mlir)
    write_report(report, [])


def main(source, original, mlir, report, sizes):
    import jax
    from jax import export
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    with open(source, "rb") as file:
        bytes_ = file.read()
    if bytes_.startswith(b"ML\xefR"):
        return portable(bytes_, mlir, report, sizes)
    try:
        exported = export.deserialize(bytearray(bytes_))
    except ImportError:
        raise
    except Exception as failure:
        raise Refused(f"JAX {jax.__version__} does not read it: {one_line(failure)}",
                      "a newer JAX may")
    if "cpu" not in exported.platforms:
        raise Refused(f"it was exported for {', '.join(exported.platforms)}",
                      "export it with platforms=['cpu']")
    names, default = symbols(exported)
    rows = read_sizes(sizes, names, default) if sizes else [{}]
    left = [name for name in names if name not in rows[0]]
    if left:
        wanted = "".join(f" --batch={name}=1,8" for name in left)
        raise Refused(f"its dim '{left[0]}' has no size, and IREE's compiler needs one",
                      "--batch=1,8,32 makes a function for each of these"
                      if left == [default] else f"say{wanted}")
    name = plain(exported.fun_name).strip("_") or "main"
    named = [sized_name(name, row) if len(rows) > 1 else name for row in rows]
    write(merged([lowered(exported, row) for row in rows], named), mlir)
    functions = [function_of(exported, *each) for each in zip(named, rows)]
    group = {"name": name, "functions": named}
    if all(each["type"]["kind"] == "tensor" for each in functions[0]["arguments"]):
        free = varying(rows)
        group["args"] = [{"dims": [str(dim) if str(dim) in free else None
                                   for dim in aval.shape]}
                         for aval in exported.in_avals]
    write_report(report, functions, group)


if __name__ == "__main__":
    run(main, INSTALL)

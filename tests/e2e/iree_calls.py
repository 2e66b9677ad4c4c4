# SPDX-License-Identifier: Apache-2.0
"""Run by the Python beside IREE's programs, never by pytest: calls functions of
one module in IREE's own runtime. Reads the module's path, takes [[function,
arguments], ...] as JSON on standard input, writes the results, or null where
the runtime failed."""
import json
import sys

from iree import runtime

config = runtime.Config("local-sync")
module = runtime.load_vm_module(
    runtime.VmModule.mmap(config.vm_instance, sys.argv[1]), config)


def plain(value):
    return list(map(plain, value)) if isinstance(value, (list, tuple)) else value


def push(target, value):
    if isinstance(value, list):
        inner = runtime.VmVariantList(len(value))
        for each in value:
            push(inner, each)
        target.push_list(inner)
    elif isinstance(value, float):
        target.push_float(value)
    else:
        target.push_int(value)


def pull(source):
    values = [source.get_variant(i) for i in range(len(source))]
    return [pull(v.deref(runtime.VmVariantList))
            if isinstance(v, runtime.VmRef) else v for v in values]


def listed(function, arguments):
    """A call with lists, below the binding's own reading of their structure: it
    takes a function that returns one list for one with several results."""
    given = runtime.VmVariantList(len(arguments))
    for each in arguments:
        push(given, each)
    taken = runtime.VmVariantList(1)
    module._context.vm_context.invoke(
        module.vm_module.lookup_function(function), given, taken)
    return pull(taken)


answers = []
for function, arguments in json.load(sys.stdin):
    try:
        if any(isinstance(each, list) for each in arguments):
            answers.append(listed(function, arguments))
        else:
            answers.append([plain(module[function](*arguments))])
    except Exception as error:
        print(function, arguments, error, file=sys.stderr)
        answers.append(None)
json.dump(answers, sys.stdout)

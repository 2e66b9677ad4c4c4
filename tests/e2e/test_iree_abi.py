# SPDX-License-Identifier: Apache-2.0
"""IREE's function ABI to the letter, in modules of its compiler: structures of one
slot, strings, the key `d`, keywords in a dict, odd widths, hints that contradict the
module, encodings, names, and SIP without types. A server calls each function, and
`farcall abi` reads its own output back."""
import json

import jsonschema
import pytest

from conftest import Server, end_servers

SOURCE = r"""
module @v1 {
  func.func @one_tensor_list(%a: tensor<2xf32>) -> !util.list<?> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"f32\",1,2]],\"r\":[[\"slist\",[\"ndarray\",\"f32\",1,2]]],\"v\":1}"}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = hal.tensor.export %a : tensor<2xf32> -> !hal.buffer_view
    %l = util.list.create %c1 : !util.list<?>
    util.list.resize %l, %c1 : !util.list<?>
    util.list.set %l[%c0], %v : !hal.buffer_view -> !util.list<?>
    return %l : !util.list<?>
  }
  func.func @one_tensor_inlined(%a: tensor<2xf32>) -> tensor<2xf32> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"f32\",1,2]],\"r\":[[\"sdict\",[\"x\",[\"ndarray\",\"f32\",1,2]]]],\"v\":1}"}} {
    %r = arith.addf %a, %a : tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @one_number_list(%a: i32) -> !util.list<?> attributes {iree.reflection = {"iree.abi" = "{\"a\":[\"i32\"],\"r\":[[\"stuple\",\"i32\"]],\"v\":1}"}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %l = util.list.create %c1 : !util.list<?>
    util.list.resize %l, %c1 : !util.list<?>
    util.list.set %l[%c0], %a : i32 -> !util.list<?>
    return %l : !util.list<?>
  }
  func.func @one_list_in_list(%a: i32) -> !util.list<?> attributes {iree.reflection = {"iree.abi" = "{\"a\":[\"i32\"],\"r\":[[\"slist\",[\"stuple\",\"i32\",\"i32\"]]],\"v\":1}"}} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %l = util.list.create %c2 : !util.list<?>
    util.list.resize %l, %c2 : !util.list<?>
    util.list.set %l[%c0], %a : i32 -> !util.list<?>
    util.list.set %l[%c1], %a : i32 -> !util.list<?>
    return %l : !util.list<?>
  }
  func.func @one_slot_in(%l: !util.list<?>) -> i32 attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"slist\",\"i32\"]],\"r\":[\"i32\"],\"v\":1}"}} {
    %c0 = arith.constant 0 : index
    %v = util.list.get %l[%c0] : !util.list<?> -> i32
    return %v : i32
  }
  func.func @text_length(%l: !util.list<i8>) -> i32 {
    %n = util.list.size %l : !util.list<i8>
    %r = arith.index_cast %n : index to i32
    return %r : i32
  }
  func.func @text_echo(%l: !util.list<i8>) -> !util.list<i8> { return %l : !util.list<i8> }
  func.func @keyed(%a: i32) -> i32 attributes {iree.reflection = {"d" = "{\"a\":[[\"named\",\"x\",\"i32\"]],\"r\":[\"i32\"]}"}} { return %a : i32 }
  func.func @rest(%a: i32, %l: !util.list<?>) -> i32 attributes {iree.reflection = {"iree.abi" = "{\"a\":[\"i32\",[\"sdict_kwargs\",[\"b\",\"i32\"],[\"c\",\"i32\"]]],\"r\":[\"i32\"],\"v\":1}"}} {
    %c1 = arith.constant 1 : index
    %v = util.list.get %l[%c1] : !util.list<?> -> i32
    %r = arith.subi %a, %v : i32
    return %r : i32
  }
  func.func @odd_number(%a: i32) -> i32 attributes {iree.reflection = {"iree.abi" = "{\"a\":[\"i24\"],\"r\":[\"i24\"],\"v\":1}"}} { return %a : i32 }
  func.func @odd_tensor(%a: tensor<2xi32>) -> tensor<2xi32> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"i24\",1,2]],\"r\":[[\"ndarray\",\"i24\",1,2]],\"v\":1}"}} {
    %r = arith.addi %a, %a : tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @odd_declared(%a: i24) -> i24 { return %a : i24 }
  func.func @wrong_rank(%a: tensor<2xf32>) -> tensor<2xf32> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"f32\",2,2,1]],\"r\":[[\"ndarray\",\"f32\",1,2]],\"v\":1}"}} {
    %r = arith.addf %a, %a : tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @wrong_width(%a: tensor<2xi32>) -> tensor<2xi32> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"i16\",1,2]],\"r\":[[\"ndarray\",\"i16\",1,2]],\"v\":1}"}} {
    %r = arith.addi %a, %a : tensor<2xi32>
    return %r : tensor<2xi32>
  }
  func.func @encoded(%a: tensor<2xf32> {iree.abi.encoding = tensor<2xi32>}) -> tensor<2xf32> {
    %r = arith.addf %a, %a : tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @named(%a: tensor<2xf32> {iree.abi.name = "left"}) -> tensor<2xf32> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"f32\",1,2]],\"r\":[[\"ndarray\",\"f32\",1,2]],\"v\":1}"}} {
    %r = arith.addf %a, %a : tensor<2xf32>
    return %r : tensor<2xf32>
  }
  func.func @sip(%a: i32, %b: tensor<2xf32>) -> i32 attributes {iree.reflection = {"abi" = "sip", "abiv" = "1", "sip" = "I17!D13!K2!a_0K2!b_1R3!_0"}} { return %a : i32 }
  func.func @sip_places(%a: i32, %b: tensor<2xf32>) -> (i32, i32) attributes {iree.reflection = {"abi" = "sip", "sipv" = "1", "sip" = "I12!S9!k0_1k1_0R1!", "f" = "I11!S3!t6B3!d2R11!S3!t6S3!t6", "fv" = "1"}} { return %a, %a : i32, i32 }
  func.func @raw(%a: i32, %b: tensor<2xf32>) -> i32 attributes {iree.reflection = {"f" = "I11!S3!t6B3!d2R6!S3!t6", "fv" = "1"}} { return %a : i32 }
  func.func @raw_of_another_version(%a: i32) -> i32 attributes {iree.reflection = {"f" = "I6!S3!t6R6!S3!t6", "fv" = "2"}} { return %a : i32 }
  func.func @any(%a: !util.list<?>) -> i32 { %n = util.list.size %a : !util.list<?>  %r = arith.index_cast %n : index to i32  return %r : i32 }
  func.func @untyped(%a: tensor<?xf32>) -> tensor<?xf32> attributes {iree.reflection = {"iree.abi" = "{\"a\":[[\"ndarray\",\"f32\",1,null]],\"r\":[[\"ndarray\",\"unknown\",1,null]],\"v\":1}"}} { return %a : tensor<?xf32> }
}
"""

# Each row: the function, its text, and a part of its warning, if it has one.
SIGNATURES = [
    ("one_tensor_list", "(tensor<2xf32>) -> [tensor<2xf32>]", ""),
    ("one_tensor_inlined", "(tensor<2xf32>) -> {x: tensor<2xf32>}", ""),
    ("one_number_list", "(i32) -> ((i32))", ""),
    ("one_list_in_list", "(i32) -> [(i32, i32)]", ""),
    ("one_slot_in", "([i32]) -> i32", ""),
    ("text_length", "(input0: bytes) -> i32", ""),
    ("text_echo", "(input0: bytes) -> bytes", ""),
    ("keyed", "(x: i32) -> i32", ""),
    ("rest", "(i32, {b: i32, c: i32}) -> i32", ""),
    ("odd_number", "(i32) -> i32", "described with i24 where the module takes i32"),
    ("odd_tensor", "(tensor<2xi32>) -> tensor<2xi32>",
     "described with i24 where the module takes i32"),
    ("odd_declared", "(input0: i32) -> i32", "i24 in the declaration and i32 in the module"),
    ("wrong_rank", "(input0: tensor<2xf32>) -> tensor<2xf32>",
     "iree.abi is not used: it does not fit"),
    ("wrong_width", "(tensor<2xi32>) -> tensor<2xi32>",
     "described with i16 where the module takes i32"),
    ("encoded", "(input0: tensor<2xi32>) -> tensor<2xf32>", ""),
    ("named", "(left: tensor<2xf32>) -> tensor<2xf32>", ""),
    ("sip", "(a: i32, b: unknown) -> i32", ""),
    ("sip_places", "(tensor<2xf32>, si32) -> (si32, si32)", ""),
    ("raw", "(si32, tensor<2xf32>) -> si32", ""),
    ("raw_of_another_version", "(input0: i32) -> i32",
     "f is not used: only version 1 of the raw signature is known"),
    ("untyped", "(tensor<?xf32>) -> tensor<?xunknown>", ""),
]

# Each row: the function, its arguments, and the results or the error code.
CALLS = [
    ("one_tensor_list", [[1, 2]], [[[1.0, 2.0]]]),
    ("one_tensor_inlined", [[1, 2]], [{"x": [2.0, 4.0]}]),
    ("one_number_list", [7], [[7]]),
    ("one_list_in_list", [7], [[[7, 7]]]),
    ("one_slot_in", [[5]], [5]),
    ("text_length", ["h\u00e9llo"], [6]),
    ("text_length", [{"b64": "AAECAw=="}], [4]),
    ("text_length", [[1, 2, 255, -128]], [4]),
    ("text_length", [[]], [0]),
    ("text_length", [[256]], "out_of_range"),
    ("text_length", [[1.5]], "type_mismatch"),
    ("text_length", [{"dtype": "i8", "shape": [1], "data": [1]}], "unknown_key"),
    ("text_echo", ["hi"], [{"b64": "aGk="}]),
    ("text_echo", [[104, 105]], [{"b64": "aGk="}]),
    ("text_echo", [""], [{"b64": ""}]),
    ("keyed", {"kwargs": {"x": 3}}, [3]),
    ("rest", {"args": [10], "kwargs": {"b": 1, "c": 4}}, [6]),
    ("rest", [10, {"b": 1, "c": 4}], [6]),
    ("rest", {"args": [10], "kwargs": {"c": 4}}, "missing_key"),
    ("rest", {"args": [10], "kwargs": {"d": 1}}, "unknown_argument"),
    ("rest", {"args": [10, {"b": 1, "c": 4}], "kwargs": {"c": 4}}, "duplicate_argument"),
    ("rest", {"kwargs": {"c": 4, "b": 1}, "args": [10, {"b": 1, "c": 4}]},
     "duplicate_argument"),
    ("rest", [10], "missing_argument"),
    ("odd_number", [-5], [-5]),
    ("odd_tensor", [[1, 2]], [[2, 4]]),
    ("wrong_rank", [[1, 2]], [[2.0, 4.0]]),
    ("wrong_width", [[70000, 2]], [[140000, 4]]),
    ("encoded", [[1065353216, 0]], [[2.0, 0.0]]),
    ("named", {"kwargs": {"left": [1, 2]}}, [[2.0, 4.0]]),
    ("keyed", [3], [3]),
    ("sip", {"kwargs": {"a": 1, "b": None}}, [1]),
    ("sip", [{"a": 1, "b": None}], [1]),
    ("sip_places", [[1, 2], 7], [7, 7]),
    ("sip_places", [7, [1, 2]], "shape_mismatch"),
    ("raw", [7, [1, 2]], [7]),
    ("untyped", [[1, 2]], [[1.0, 2.0]]),
    ("any", [{"dtype": "i32", "data": 4}], "type_mismatch"),
    ("any", [{"list": [{"dtype": "complex<f32>", "data": [1, 2]}]}], "type_mismatch"),
    ("any", [{"list": [{"dtype": "f32", "data": 1}]}], [1]),
]


# A schema cannot express a value that is used in two places, nor one without a number
# in the VM.
BEYOND_SCHEMAS = ["duplicate_argument", "any"]


@pytest.fixture(scope="module")
def hints(iree):
    running = Server(iree.compile_text("hints", SOURCE, "--iree-hal-target-device=local",
                                       "--iree-hal-local-target-device-backends=vmvx"))
    yield running
    end_servers([running])


def described(server, name, form=""):
    (module,) = {one["module"] for one in server.get("/api/v1/functions").json["functions"]}
    return server.get(f"/api/v1/functions/{module}/{name}{form}"), f"{module}/{name}"


@pytest.mark.parametrize("name,text,warning", SIGNATURES, ids=[row[0] for row in SIGNATURES])
def test_what_a_module_says_of_itself_is_used_where_it_fits(hints, name, text, warning):
    signature = described(hints, name)[0].json
    assert signature["text"] == name + text
    assert signature["callable"]
    assert warning in signature.get("warning", "")
    assert bool(warning) == bool(signature.get("warning"))


def test_each_form_of_a_call_is_taken_or_refused_as_the_client_s_mistake(hints):
    for name, document, wanted in CALLS:
        reply = hints.call(described(hints, name)[1], document)
        if isinstance(wanted, str):
            assert reply.status in (400, 422), (name, document, reply.body)
            assert reply.json["code"] == wanted, (name, document, reply.body)
        else:
            assert reply.status == 200, (name, document, reply.body)
            assert reply.json == {"results": wanted}, (name, document)


@pytest.mark.parametrize("item", [1.5, 256, 1e300, "a", None, [1], True])
def test_a_list_that_is_no_text_says_what_an_item_is(hints, item):
    reply = hints.call(described(hints, "text_length")[1], [[104, item]])
    assert reply.status in (400, 422)
    assert reply.json["expected"] == "a byte, -128 to 255"
    assert reply.json["pointer"] == "/0/1", reply.body


def test_a_schema_takes_what_the_decoder_takes(hints):
    for name, document, wanted in CALLS:
        schema = described(hints, name, "?format=jsonschema")[0].json
        taken = jsonschema.Draft202012Validator(schema).is_valid(document)
        if isinstance(wanted, str):
            assert not taken or {name, wanted} & set(BEYOND_SCHEMAS), (name, document)
            continue
        assert taken, (name, document)
        answer = {**schema["$defs"]["answer"], "$defs": schema["$defs"]}
        jsonschema.Draft202012Validator(answer).validate({"results": wanted})


def test_every_v1_form_that_is_printed_reads_back_as_the_same_tree(hints, farcall):
    for name, text, _ in SIGNATURES:
        printed = described(hints, name, "?format=v1")[0]
        assert printed.status == 200, (name, printed.body)
        form = printed.body.decode().strip()
        tree = farcall("abi", "parse", "v1", form)
        assert tree.returncode == 0, (name, form, tree.stderr)
        again = farcall("abi", "mangle", "v1", tree.stdout.strip())
        assert again.stdout.strip() == form, name

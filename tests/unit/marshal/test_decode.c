// SPDX-License-Identifier: Apache-2.0
//
// Call documents: which parameter gets which argument, what containers accept, and the
// error of a wrong document, with its pointer and offset.
#include "helpers/call.h"
#include "helpers/test.h"

#define OK(name, types, body, flat) \
  { name, types, body, flat, FC_CODE_NONE, NULL, NULL }
#define BAD(name, types, body, code, pointer) \
  { name, types, body, NULL, FC_CODE_##code, pointer, NULL }

#define XY "x: i8, y: i8 ->"

// An argument, and a dict that receives the call's keywords.
#define REST                                                     \
  "\"i8\",[\"sdict_kwargs\",[\"b\",\"i8\"],[\"c\",[\"ndarray\"," \
  "\"i8\",1,1]]]"

static const fc_test_decode_row_t documents[] = {
    OK("bare array", XY, "[1,2]", "i8:1; i8:2"),
    OK("args", XY, "{\"args\":[1,2]}", "i8:1; i8:2"),
    OK("kwargs", XY, "{\"kwargs\":{\"y\":2,\"x\":1}}", "i8:1; i8:2"),
    OK("both", XY, "{\"args\":[1],\"kwargs\":{\"y\":2}}", "i8:1; i8:2"),
    OK("an argument called args", "args: i8 ->", "{\"args\":[1]}", "i8:1"),
    OK("kwargs first", XY, "{\"kwargs\":{\"y\":2},\"args\":[1]}", "i8:1; i8:2"),
    OK("escaped names", XY, "{\"\\u0061rgs\":[1],\"kwargs\":{\"\\u0079\":2}}",
       "i8:1; i8:2"),
    OK("options", XY, "{\"options\":{},\"args\":[1,2]}", "i8:1; i8:2"),
    OK("no arguments, array", "->", "[]", ""),
    OK("no arguments, object", "->", "{}", ""),
    OK("no arguments, both", "->", "{\"args\":[],\"kwargs\":{}}", ""),
    OK("blanks around", "i8 ->", " \n[ 1 ]\t\r\n", "i8:1"),
    OK("not a keyword", "i8, y: i8 ->", "{\"args\":[1],\"kwargs\":{\"y\":2}}",
       "i8:1; i8:2"),
    OK("out is not counted", "i8, out tensor<1xi8>, y: i8 ->", "[1,2]",
       "i8:1; 1xi8[0]; i8:2"),
    OK("out sized by a list", "[tensor<Nxi8>], out tensor<Nxi8> ->",
       "[[[1,2]]]", "(2xi8[1 2]); 2xi8[0 0]"),
    BAD("out sized by an empty list", "[tensor<Nxi8>], out tensor<Nxi8> ->",
        "[[]]", SHAPE_MISMATCH, ""),
    BAD("out too large", "out tensor<1000000x1000000xi8> ->", "[]",
        TENSOR_TOO_LARGE, ""),
    OK("inout is sent", "inout tensor<1xi8> ->", "[[5]]", "1xi8[5]"),

    BAD("empty body", "i8 ->", "", JSON_SYNTAX, ""),
    BAD("trailing bytes", "i8 ->", "[1]^x", JSON_SYNTAX, ""),
    BAD("two documents", "i8 ->", "[1]^[2]", JSON_SYNTAX, ""),
    BAD("cut off", "i8 ->", "[1^", JSON_SYNTAX, "/0"),
    BAD("byte order mark", "i8 ->", "\xEF\xBB\xBF[1]", JSON_SYNTAX, ""),
    BAD("top level number", "i8 ->", "^5", JSON_SCHEMA, ""),
    BAD("top level string", "i8 ->", "^\"a\"", JSON_SCHEMA, ""),
    BAD("top level null", "i8 ->", "^null", JSON_SCHEMA, ""),
    BAD("args is no array", "i8 ->", "{\"args\":^{}}", JSON_SCHEMA, "/args"),
    BAD("kwargs is no object", "i8 ->", "{\"kwargs\":^[]}", JSON_SCHEMA,
        "/kwargs"),
    BAD("options is no object", "i8 ->", "{\"options\":^[]}", JSON_SCHEMA,
        "/options"),
    BAD("unknown member", "i8 ->", "{^\"argz\":[1]}", UNKNOWN_FIELD, "/argz"),
    BAD("unknown option", "i8 ->", "{\"options\":{^\"int32\":1}}",
        UNKNOWN_FIELD, "/options/int32"),
    BAD("option value", "i8 ->", "{\"options\":{\"int64\":^\"number\"}}",
        JSON_SCHEMA, "/options/int64"),
    BAD("option kind", "i8 ->", "{\"options\":{\"results\":^true}}",
        JSON_SCHEMA, "/options/results"),
    BAD("option twice", "i8 ->",
        "{\"options\":{\"int64\":\"string\",^\"int64\":\"string\"}}",
        DUPLICATE_KEY, "/options/int64"),
    BAD("args twice", "i8 ->", "{\"args\":[1],^\"args\":[1]}", DUPLICATE_KEY,
        "/args"),
    BAD("kwargs twice", XY, "{\"kwargs\":{},^\"kwargs\":{}}", DUPLICATE_KEY,
        "/kwargs"),
    BAD("key twice", XY, "{\"kwargs\":{\"x\":1,^\"x\":1}}", DUPLICATE_KEY,
        "/kwargs/x"),
    BAD("key twice, escaped", XY, "{\"kwargs\":{\"x\":1,^\"\\u0078\":1}}",
        DUPLICATE_KEY, "/kwargs/x"),

    BAD("missing, bare", XY, "[1^]", MISSING_ARGUMENT, ""),
    BAD("missing, args", XY, "{\"args\":[1^]}", MISSING_ARGUMENT, "/args"),
    BAD("missing, kwargs", XY, "{\"kwargs\":{\"x\":1^}}", MISSING_ARGUMENT,
        "/kwargs"),
    BAD("missing, both", XY, "{\"args\":[],\"kwargs\":{\"x\":1^}}",
        MISSING_ARGUMENT, "/kwargs"),
    BAD("missing, nothing given", XY, "{^}", MISSING_ARGUMENT, ""),
    BAD("missing, no keyword", "i8, y: i8 ->",
        "{\"args\":[^],\"kwargs\":{\"y\":2}}", MISSING_ARGUMENT, "/args"),
    BAD("missing after a wrong option", XY,
        "{\"args\":[1],\"options\":{^\"x\":1}}", UNKNOWN_FIELD, "/options/x"),
    BAD("extra, bare", XY, "[1,2,^3]", EXTRA_ARGUMENT, "/2"),
    BAD("extra, args", XY, "{\"args\":[1,2,^[]]}", EXTRA_ARGUMENT, "/args/2"),
    BAD("extra for none", "->", "[^null]", EXTRA_ARGUMENT, "/0"),
    BAD("unknown keyword", XY, "{\"kwargs\":{^\"z\":3}}", UNKNOWN_ARGUMENT,
        "/kwargs/z"),
    BAD("not by keyword", "i8 ->", "{\"kwargs\":{^\"x\":3}}", UNKNOWN_ARGUMENT,
        "/kwargs/x"),
    BAD("given twice, args first", XY, "{\"args\":[1],\"kwargs\":{^\"x\":1}}",
        DUPLICATE_ARGUMENT, "/kwargs/x"),
    BAD("given twice, kwargs first", XY, "{\"kwargs\":{\"x\":1},\"args\":[^1]}",
        DUPLICATE_ARGUMENT, "/args/0"),
    BAD("out cannot be sent", "out y: tensor<1xi8> ->",
        "{\"kwargs\":{^\"y\":[1]}}", UNKNOWN_ARGUMENT, "/kwargs/y"),
    BAD("first error wins", XY, "[^300,\"x\"]", OUT_OF_RANGE, "/0"),
    BAD("value before a later syntax error", XY, "[^300,", OUT_OF_RANGE, "/0"),
    BAD("syntax before a missing argument", XY, "[1 ^2]", JSON_SYNTAX, "/0"),
    BAD("pointer escapes", "i8 ->", "{\"kwargs\":{^\"a/b~c\":1}}",
        UNKNOWN_ARGUMENT, "/kwargs/a~1b~0c"),
};

static const fc_test_decode_row_t containers[] = {
    OK("tuple", "(i8, f32) ->", "[[1,2]]", "(i8:1, f32:2)"),
    OK("empty tuple", "() ->", "[[]]", "()"),
    BAD("tuple short", "(i8, f32) ->", "[[1^]]", LENGTH_MISMATCH, "/0"),
    BAD("tuple long", "(i8, f32) ->", "[[1,2,^3]]", LENGTH_MISMATCH, "/0/2"),
    BAD("tuple as object", "(i8, f32) ->", "[^{}]", TYPE_MISMATCH, "/0"),
    BAD("tuple null", "(i8, f32) ->", "[^null]", TYPE_MISMATCH, "/0"),
    BAD("inside a tuple", "(i8, (f32, i8)) ->", "[[1,[2,^300]]]", OUT_OF_RANGE,
        "/0/1/1"),
    OK("list", "[i8] ->", "[[1,2,3,4,5,6,7,8,9]]",
       "(i8:1, i8:2, i8:3, i8:4, i8:5, i8:6, i8:7, i8:8, i8:9)"),
    OK("empty list", "[i8] ->", "[[]]", "()"),
    OK("list of tensors", "[tensor<?xi8>] ->", "[[[1],[],[2,3]]]",
       "(1xi8[1], 0xi8[], 2xi8[2 3])"),
    OK("list of lists", "[[i8]] ->", "[[[1],[],[2,3]]]",
       "((i8:1), (), (i8:2, i8:3))"),
    BAD("inside a list", "[i8] ->", "[[1,^\"x\"]]", TYPE_MISMATCH, "/0/1"),
    BAD("list as number", "[i8] ->", "[^1]", TYPE_MISMATCH, "/0"),
    OK("dict in record order", "{b: i8, a: f32} ->", "[{\"a\":1,\"b\":2}]",
       "(i8:2, f32:1)"),
    OK("empty dict", "{} ->", "[{}]", "()"),
    OK("deep", "{a: (i8, [{b: tensor<1xi8>}])} ->",
       "[{\"a\":[1,[{\"b\":[2]},{\"b\":[3]}]]}]",
       "((i8:1, ((1xi8[2]), (1xi8[3]))))"),
    BAD("missing key", "{a: i8, b: i8} ->", "[{\"b\":1^}]", MISSING_KEY, "/0"),
    BAD("unknown key", "{a: i8, b: i8} ->", "[{\"a\":1,^\"c\":1}]", UNKNOWN_KEY,
        "/0/c"),
    BAD("duplicate key", "{a: i8, b: i8} ->", "[{\"a\":1,^\"a\":1}]",
        DUPLICATE_KEY, "/0/a"),
    BAD("duplicate escaped key", "{a: i8, b: i8} ->",
        "[{\"\\u0061\":1,^\"a\":1}]", DUPLICATE_KEY, "/0/a"),
    BAD("dict as array", "{a: i8} ->", "[^[1]]", TYPE_MISMATCH, "/0"),
    BAD("index for a key", "{a: i8} ->", "[{^\"0\":1}]", UNKNOWN_KEY, "/0/0"),
    OK("null element", "(i8, null) ->", "[[1,null]]", "(i8:1, null)"),
    OK("references", "ref<2xi8> ->", "[[1,2]]", "((i8:1, i8:2), (i64:2))"),
    OK("references, nested", "ref<?x2x(i8, str)> ->",
       "[[[[1,\"a\"],[2,\"b\"]]]]",
       "(((i8:1, \"a\"), (i8:2, \"b\")), (i64:1, i64:2))"),
    OK("references, none", "ref<?x?xi8> ->", "[[]]", "((), (i64:0, i64:0))"),
    BAD("references short", "ref<2xi8> ->", "[[1^]]", SHAPE_MISMATCH, "/0"),
    BAD("references long", "ref<2xi8> ->", "[[1,2,^3]]", SHAPE_MISMATCH,
        "/0/2"),
    BAD("references ragged", "ref<?x?xi8> ->", "[[[1,2],[3^]]]", SHAPE_MISMATCH,
        "/0/1"),
    BAD("references ragged long", "ref<?x?xi8> ->", "[[[1],[3,^4]]]",
        SHAPE_MISMATCH, "/0/1/1"),
    BAD("references flat", "ref<?x?xi8> ->", "[[^1]]", SHAPE_MISMATCH, "/0/0"),
    OK("references of references", "ref<1xref<2xi8>> ->", "[[[1,2]]]",
       "((((i8:1, i8:2), (i64:2))), (i64:1))"),
};

// The calls in the unit tests of IREE's Python binding (function_test.py of
// iree/runtime), as JSON, with the metadata that they use.
#define V1(a, r) "v1 {\"a\":[" a "],\"r\":[" r "]}"
#define KW \
  V1("\"i32\",[\"named\",\"a\",\"i32\"],[\"named\",\"b\",\"i32\"]", "\"i32\"")
#define SLIST V1("[\"slist\",\"i32\",\"i32\"]", "")
#define STUPLE V1("[\"stuple\",\"i32\",\"i32\"]", "")
#define SDICT V1("[\"sdict\",[\"a\",\"i32\"],[\"b\",\"i32\"]]", "")
#define ND "[\"ndarray\",\"i32\",1,2]"
#define KW_ND \
  V1(ND ",[\"named\",\"a\"," ND "],[\"named\",\"b\"," ND "]", "\"i32\"")
static const fc_test_decode_row_t v1[] = {
    OK("NoReflectionScalars", "i32, i32 -> i32, i32", "[1,2]", "i32:1; i32:2"),
    OK("NoReflectionBfloat16Ndarray", "any -> i32",
       "[{\"dtype\":\"bf16\",\"shape\":[2,2],\"data\":[1,2,3,4]}]",
       "2x2xbf16[0x3f80 0x4000 0x4040 0x4080]"),
    OK("KeywordArgs", KW, "{\"args\":[-1],\"kwargs\":{\"a\":1,\"b\":2}}",
       "i32:-1; i32:1; i32:2"),
    OK("ListArg", SLIST, "[[2,3]]", "(i32:2, i32:3)"),
    OK("TupleArg", STUPLE, "[[2,3]]", "(i32:2, i32:3)"),
    OK("ListArgNoReflection", "any ->",
       "[{\"list\":[{\"dtype\":\"i64\",\"data\":2},{\"dtype\":\"i64\","
       "\"data\":3}]}]",
       "(i64:2, i64:3)"),
    BAD("ListArgArityMismatch", SLIST, "[[2,3,^4]]", LENGTH_MISMATCH, "/0/2"),
    BAD("TupleArgArityMismatch", STUPLE, "[[2^]]", LENGTH_MISMATCH, "/0"),
    OK("DictArg", SDICT, "[{\"b\":3,\"a\":2}]", "(i32:2, i32:3)"),
    BAD("DictArgArityMismatch", SDICT, "[{\"a\":2,\"b\":3,^\"c\":4}]",
        UNKNOWN_KEY, "/0/c"),
    BAD("DictArgKeyError", SDICT, "[{\"a\":2,^\"c\":3}]", UNKNOWN_KEY, "/0/c"),
    BAD("DictArgKeyError, too few", SDICT, "[{\"a\":2^}]", MISSING_KEY, "/0"),
    BAD("MissingPositional", KW, "{\"kwargs\":{\"a\":1,\"b\":1^}}",
        MISSING_ARGUMENT, "/kwargs"),
    BAD("MissingPositionalNdarray", KW_ND,
        "{\"kwargs\":{\"a\":[1,1],\"b\":[1,1]^}}", MISSING_ARGUMENT, "/kwargs"),
    BAD("MissingKeyword", KW, "{\"args\":[-1],\"kwargs\":{\"a\":1^}}",
        MISSING_ARGUMENT, "/kwargs"),
    BAD("MissingKeywordNdArray", KW_ND,
        "{\"args\":[[1,1]],\"kwargs\":{\"a\":[1,1]^}}", MISSING_ARGUMENT,
        "/kwargs"),
    BAD("ExtraKeyword", KW,
        "{\"args\":[-1],\"kwargs\":{\"a\":1,\"b\":2,^\"c\":3}}",
        UNKNOWN_ARGUMENT, "/kwargs/c"),
    OK("positionals fill keywords", KW, "[-1,1,2]", "i32:-1; i32:1; i32:2"),
    OK("NdarrayArg", V1(ND, ""), "[[1,0]]", "2xi32[1 0]"),
    OK("NdarrayArgNoReflection", "any ->",
       "[{\"dtype\":\"i32\",\"shape\":[2],\"data\":[1,0]}]", "2xi32[1 0]"),
    BAD("ndarray shape is verified", V1(ND, ""), "[[1,0,^2]]", SHAPE_MISMATCH,
        "/0/2"),
    OK("null record", V1("null,\"i8\"", ""), "[null,1]", "null; i8:1"),
    BAD("null record given", V1("null,\"i8\"", ""), "[^0,1]", TYPE_MISMATCH,
        "/0"),
    OK("unknown record", V1("\"unknown\"", ""), "[{\"bytes\":\"x\"}]", "\"x\""),
    OK("unknown elements", V1("[\"ndarray\",\"unknown\",1,null]", ""),
       "[{\"dtype\":\"f32\",\"shape\":[1],\"data\":[1]}]", "1xf32[1]"),
    OK("null rank", V1("[\"ndarray\",\"f32\",null]", ""), "[[[1,2]]]",
       "1x2xf32[1 2]"),
    OK("typed list", V1("[\"py_homogeneous_list\",\"i8\"]", ""), "[[1,2]]",
       "(i8:1, i8:2)"),
    OK("array of records", V1("[\"ndarray\",[\"slist\",\"i8\"],1,null]", ""),
       "[[[1],[2]]]", "(((i8:1), (i8:2)), (i64:2))"),
    OK("keywords in a dict", V1(REST, ""),
       "{\"kwargs\":{\"c\":[4],\"b\":1},\"args\":[9]}",
       "i8:9; (i8:1, 1xi8[4])"),
    OK("keywords as one argument", V1(REST, ""), "[9,{\"c\":[4],\"b\":1}]",
       "i8:9; (i8:1, 1xi8[4])"),
    BAD("a keyword is missing", V1(REST, ""),
        "{\"args\":[9],\"kwargs\":{\"b\":1^}}", MISSING_KEY, "/kwargs"),
    BAD("no such keyword", V1(REST, ""), "{\"args\":[9],\"kwargs\":{^\"d\":1}}",
        UNKNOWN_ARGUMENT, "/kwargs/d"),
    BAD("a keyword twice", V1(REST, ""),
        "{\"args\":[9],\"kwargs\":{\"b\":1,^\"b\":1}}", DUPLICATE_KEY,
        "/kwargs/b"),
    BAD("a keyword of a wrong type", V1(REST, ""),
        "{\"args\":[9],\"kwargs\":{\"c\":^4}}", SHAPE_MISMATCH, "/kwargs/c"),
    BAD("keywords beside their dict", V1(REST, ""),
        "{\"args\":[9,{\"c\":[4],\"b\":1}],\"kwargs\":{^\"b\":1}}",
        DUPLICATE_ARGUMENT, "/kwargs/b"),
    BAD("a dict beside its keywords", V1(REST, ""),
        "{\"kwargs\":{\"c\":[4],\"b\":1},\"args\":[9,^{}]}", DUPLICATE_ARGUMENT,
        "/args/1"),
    OK("nested",
       V1("[\"sdict\",[\"dict\",[\"sdict\",[\"a\",\"i8\"],[\"b\",\"i8\"]]],"
          "[\"list\",[\"slist\",\"i8\",\"i8\"]]],\"f32\"",
          ""),
       "[{\"list\":[1,2],\"dict\":{\"b\":3,\"a\":4}},5]",
       "((i8:4, i8:3), (i8:1, i8:2)); f32:5"),
};

// SIP: the arguments are one tree, whose leaves have the raw index.
#define LIST_2 "root (i8@0, f32@1) ->"
#define DICT_3 "root {input_ids: i8@1, input_mask: i8@2, segment_ids: i8@0} ->"
// The real signature has 384 where this one has 2.
#define MOBILEBERT                                               \
  "sip I53!D49!K10!input_ids_1K11!input_mask_2K12!segment_ids_0" \
  "R39!D35!K11!end_logits_0K13!start_logits_1 "                  \
  "I28!B7!t6d1d2B7!t6d1d2B7!t6d1d2R15!B5!d1d2B5!d1d2"
static const fc_test_decode_row_t sip[] = {
    OK("no structure", "root ->", "[]", ""),
    BAD("no structure, given", "root ->", "[^1]", EXTRA_ARGUMENT, "/0"),
    OK("leaf", "root i8@0 ->", "[1]", "i8:1"),
    BAD("leaf by keyword", "root i8@0 ->", "{\"kwargs\":{^\"x\":1}}",
        UNKNOWN_ARGUMENT, "/kwargs/x"),
    OK("list", LIST_2, "[1,2]", "i8:1; f32:2"),
    OK("list, swapped", "root (i8@1, f32@0) ->", "[1,2]", "f32:2; i8:1"),
    BAD("list short", LIST_2, "[1^]", MISSING_ARGUMENT, ""),
    BAD("list long", LIST_2, "[1,2,^3]", EXTRA_ARGUMENT, "/2"),
    BAD("list by keyword", LIST_2, "{\"kwargs\":{^\"x\":1}}", UNKNOWN_ARGUMENT,
        "/kwargs/x"),
    OK("gap", "root (i8@0, null, i8@1) ->", "[1,null,2]", "i8:1; i8:2"),
    BAD("gap filled", "root (i8@0, null, i8@1) ->", "[1,^5,2]", TYPE_MISMATCH,
        "/1"),
    BAD("gap left out", "root (i8@0, null, i8@1) ->", "[1^]", MISSING_ARGUMENT,
        ""),
    OK("nested", "root ({bar: i8@1, foo: i8@0}, i8@2) ->",
       "[{\"foo\":1,\"bar\":2},3]", "i8:1; i8:2; i8:3"),
    BAD("nested missing", "root ({bar: i8@1, foo: i8@0}, i8@2) ->",
        "[{\"foo\":1^},3]", MISSING_KEY, "/0"),
    BAD("nested wrong", "root ({bar: i8@1, foo: i8@0}, i8@2) ->",
        "{\"args\":[{\"foo\":1,\"bar\":^300},3]}", OUT_OF_RANGE, "/args/0/bar"),
    OK("mobilebert, published", MOBILEBERT,
       "{\"kwargs\":{\"input_ids\":[[1,2]],\"input_mask\":[[3,4]],"
       "\"segment_ids\":[[5,6]]}}",
       "1x2xsi32[5 6]; 1x2xsi32[1 2]; 1x2xsi32[3 4]"),
    OK("leaves without types", "sip I12!S9!k0_0k1_1R1!",
       "[{\"dtype\":\"f32\",\"shape\":[],\"data\":1},null]", "xf32[1]; null"),
    OK("mobilebert by keyword", DICT_3,
       "{\"kwargs\":{\"input_ids\":1,\"input_mask\":2,\"segment_ids\":3}}",
       "i8:3; i8:1; i8:2"),
    OK("mobilebert as one object", DICT_3,
       "[{\"input_ids\":1,\"input_mask\":2,\"segment_ids\":3}]",
       "i8:3; i8:1; i8:2"),
    OK("one object in args", DICT_3,
       "{\"args\":[{\"segment_ids\":3,\"input_mask\":2,\"input_ids\":1}]}",
       "i8:3; i8:1; i8:2"),
    BAD("object and more", DICT_3,
        "[{\"segment_ids\":3,\"input_mask\":2,\"input_ids\":1},^1]",
        EXTRA_ARGUMENT, "/1"),
    BAD("object and keywords", DICT_3,
        "{\"args\":[{\"segment_ids\":3,\"input_mask\":2,\"input_ids\":1}],"
        "\"kwargs\":{^\"input_ids\":1}}",
        DUPLICATE_ARGUMENT, "/kwargs/input_ids"),
    BAD("keywords and object", DICT_3,
        "{\"kwargs\":{\"segment_ids\":3,\"input_mask\":2,\"input_ids\":1},"
        "\"args\":[^{}]}",
        EXTRA_ARGUMENT, "/args/0"),
    BAD("object short", DICT_3, "[{\"segment_ids\":3,\"input_mask\":2^}]",
        MISSING_KEY, "/0"),
    BAD("keywords short", DICT_3,
        "{\"kwargs\":{\"segment_ids\":3,\"input_mask\":2^}}", MISSING_ARGUMENT,
        "/kwargs"),
    BAD("a number for the root", DICT_3, "[^1]", EXTRA_ARGUMENT, "/0"),
    BAD("unknown keyword", DICT_3, "{\"kwargs\":{^\"input_id\":1}}",
        UNKNOWN_ARGUMENT, "/kwargs/input_id"),
    OK("empty list", "root () ->", "[]", ""),
    OK("empty dict", "root {} ->", "{\"kwargs\":{}}", ""),
    OK("empty dict as an object", "root {} ->", "[{}]", ""),
};

// Wrong documents: each gives one error, with its pointer and offset.
static const fc_test_decode_row_t wrong_inputs[] = {
    BAD("bad JSON", "x: tensor<2xf32> ->", "{\"args\":[[1,2]^", JSON_SYNTAX,
        "/args/0"),
    BAD("wrong rank", "tensor<2x2xf32> ->", "{\"args\":[[^1,2]]}",
        SHAPE_MISMATCH, "/args/0/0"),
    BAD("ragged", "tensor<?x?xf32> ->", "{\"args\":[[[1,2],[3^]]]}",
        SHAPE_MISMATCH, "/args/0/1"),
    BAD("300 for i8", "x: tensor<2x4xi8> ->",
        "{\"kwargs\":{\"x\":[[1,2,3,4],[5,6,7,^300]]}}", OUT_OF_RANGE,
        "/kwargs/x/1/3"),
    BAD("1.5 for i32", "i32 ->", "[^1.5]", TYPE_MISMATCH, "/0"),
    BAD("2^63 for i64", "tensor<1xi64> ->", "[[^9223372036854775808]]",
        OUT_OF_RANGE, "/0/0"),
    BAD("bare NaN", "tensor<2xf32> ->", "[[1,^NaN]]", JSON_SYNTAX, "/0/1"),
    BAD("NaN for an integer", "tensor<1xi32> ->", "[[^\"NaN\"]]", TYPE_MISMATCH,
        "/0/0"),
    BAD("unknown keyword", "lhs: i8 ->", "{\"kwargs\":{^\"lsh\":1}}",
        UNKNOWN_ARGUMENT, "/kwargs/lsh"),
    BAD("missing argument", "lhs: i8, rhs: i8 ->", "{\"args\":[1^]}",
        MISSING_ARGUMENT, "/args"),
    BAD("extra argument", "lhs: i8 ->", "{\"args\":[1,^2]}", EXTRA_ARGUMENT,
        "/args/1"),
    BAD("unknown option", "i8 ->", "{\"args\":[1],\"options\":{^\"x\":1}}",
        UNKNOWN_FIELD, "/options/x"),
    BAD("matmul 2x3 by 2x2", "tensor<MxKxf32>, tensor<KxNxf32> ->",
        "[[[1,2,3],[4,5,6]],[[1,0],[0,1]^]]", SHAPE_MISMATCH, "/1"),
};

#define EACH(table)                                            \
  static void table##_bind(void **state) {                     \
    (void)state;                                               \
    FC_TEST_EACH_ROW(const fc_test_decode_row_t, row, table) { \
      fc_test_decode_row(row, NULL);                           \
    }                                                          \
  }
EACH(documents)
EACH(containers)
EACH(v1)
EACH(sip)
EACH(wrong_inputs)

// Messages: they name the argument, what is wrong, and the nearest name.
typedef struct message_row_t {
  const char *name;
  const char *types;
  const char *body;
  const char *message;
  const char *expected;
  const char *got;
} message_row_t;

#define LIST_HINT \
  "; the call is a list of arguments, so one tensor stands in [ ] too"

static const message_row_t messages[] = {
    {"range", "x: i8 ->", "[300]", "argument 0 ('x'): 300 does not fit i8",
     "i8 in [-128,127]", "300"},
    {"second argument", "i8, i8 ->", "[1,true]",
     "argument 1: true where i8 is wanted", "i8", "true"},
    {"missing", XY, "[1]", "argument 1 ('y'): missing", "", ""},
    {"nearest argument", "input_ids: i8 ->", "{\"kwargs\":{\"input_id\":1}}",
     "there is no argument 'input_id'; did you mean 'input_ids'?", "",
     "input_id"},
    {"nothing near", "input_ids: i8, b: i8 ->", "{\"kwargs\":{\"zz\":1}}",
     "there is no argument 'zz'; there are 'b', 'input_ids'", "", "zz"},
    {"one there is", "input_ids: i8 ->", "{\"kwargs\":{\"zz\":1}}",
     "there is no argument 'zz'; there is 'input_ids'", "", "zz"},
    {"more than are listed",
     "a1: i8, a2: i8, a3: i8, a4: i8, a5: i8, a6: i8, a7: i8, a8: i8, a9: i8 "
     "->",
     "{\"kwargs\":{\"zz\":1}}",
     "there is no argument 'zz'; there are 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', "
     "'a7', 'a8' and 1 more",
     "", "zz"},
    {"without names", "i8, i8 ->", "{\"kwargs\":{\"x\":1,\"y\":2}}",
     "there is no argument 'x': those of this function have no names, so they "
     "are members of 'args' in order",
     "", "x"},
    {"no arguments", "->", "{\"kwargs\":{\"x\":1}}",
     "there is no argument 'x': the function takes none", "", "x"},
    {"no key near", "x: {alpha: i8} ->", "[{\"zz\":1}]",
     "argument 0 ('x'): there is no key 'zz'; there is 'alpha'", "", "zz"},
    {"no keys", "x: {} ->", "[{\"zz\":1}]",
     "argument 0 ('x'): there is no key 'zz': the dict has none", "", "zz"},
    {"no member near", "i8 ->", "{\"images\":[1]}",
     "there is no member 'images'; there are 'args', 'kwargs', 'options'", "",
     "images"},
    {"no option near", "i8 ->", "{\"options\":{\"fast\":1}}",
     "there is no option 'fast'; there are 'if_absent', 'int64', "
     "'keep', 'results'",
     "", "fast"},
    {"a byte beyond all numbers", "chars ->", "[[1,1e400]]",
     "argument 0: expected a byte, -128 to 255, found a number",
     "a byte, -128 to 255", "1e400"},
    {"a byte and a very little", "chars ->", "[[5.0000000000000000001]]",
     "argument 0: expected a byte, -128 to 255, found a number",
     "a byte, -128 to 255", "5.0000000000000000001"},
    {"a byte too high", "chars ->", "[[256]]",
     "argument 0: expected a byte, -128 to 255, found a number",
     "a byte, -128 to 255", "256"},
    {"an option's value", "i8 ->", "{\"options\":{\"results\":\"fancy\"}}",
     "option 'results' is \"typed\" or \"b64\", found 'fancy'",
     "\"typed\" or \"b64\"", "fancy"},
    {"an option that is no text", "i8 ->", "{\"options\":{\"int64\":true}}",
     "option 'int64' is \"string\", found true", "\"string\"", "true"},
    {"an object for a scalar", "i32 ->",
     "[{\"dtype\":\"i32\",\"shape\":[1],\"data\":[4]}]",
     "argument 0: expected i32, found an object: a scalar is a bare value, only "
     "a tensor has a dtype and a shape",
     "i32", "an object"},
    {"an array for a scalar", "i32 ->", "[[4]]",
     "argument 0: expected i32, found an array: a scalar is a bare value",
     "i32", "an array"},
    {"nearest key", "x: {alpha: i8} ->", "[{\"alhpa\":1}]",
     "argument 0 ('x'): there is no key 'alhpa'; did you mean 'alpha'?", "",
     "alhpa"},
    {"nearest member", "i8 ->", "{\"arg\":[1]}",
     "there is no member 'arg'; did you mean 'args'?", "", "arg"},
    {"argument for a member", "arg: i8 ->", "{\"arg\":1}",
     "there is no member 'arg': arguments by name are members of 'kwargs'", "",
     "arg"},
    {"nearest option", "i8 ->", "{\"options\":{\"int46\":1}}",
     "there is no option 'int46'; did you mean 'int64'?", "", "int46"},
    {"dtype", "tensor<1xf32> ->", "[{\"dtype\":\"f64\"}]",
     "argument 0: dtype 'f64', declared f32: .astype(\"float32\") makes it so",
     "f32", "f64"},
    {"a member of a typed value", "tensor<1xf32> ->", "[{\"dtpe\":\"f32\"}]",
     "argument 0: a typed value has no member 'dtpe'; did you mean 'dtype'?",
     "dtype, shape, data or b64", "dtpe"},
    {"no member of a typed value", "tensor<1xf32> ->", "[{\"zz\":1}]",
     "argument 0: a typed value has no member 'zz'; there are dtype, shape, "
     "data, b64",
     "dtype, shape, data or b64", "zz"},
    {"text in a tensor", "tensor<1xf32> ->", "[[\"1\"]]",
     "argument 0: '1' is text, f32 wanted", "f32", "1"},
    {"rows for arguments", "x: tensor<?x2xf32> ->", "[[1,2],[3,4]]",
     "argument 0 ('x'): nested 1 deep, the tensor has 2 dims" LIST_HINT,
     "rank 2", "1"},
    {"elements for arguments", "tensor<?xf32> ->", "{\"args\":[1,2]}",
     "argument 0: a bare number (0 dims), the tensor has 1 dims" LIST_HINT,
     "rank 1", "1"},
    {"elements for arguments, of more dims", "tensor<?x2xf32> ->", "[1,2]",
     "argument 0: a bare number (0 dims), the tensor has 2 dims" LIST_HINT,
     "rank 2", "1"},
    {"one row", "tensor<?x2xf32> ->", "[[1,2]]",
     "argument 0: nested 1 deep, the tensor has 2 dims: put it in [ ] once more",
     "rank 2", "1"},
    {"one row, two brackets short", "tensor<?x2x2xf32> ->", "[[1,2]]",
     "argument 0: nested 1 deep, the tensor has 3 dims", "rank 3", "1"},
    {"rows of two arguments", "tensor<?xf32>, i8 ->", "[1,2]",
     "argument 0: a bare number (0 dims), the tensor has 1 dims", "rank 1",
     "1"},
    {"a row by name", "x: tensor<?xf32>, y: i8 ->",
     "{\"kwargs\":{\"x\":1,\"y\":2}}",
     "argument 0 ('x'): a bare number (0 dims), the tensor has 1 dims",
     "rank 1", "1"},
    {"tensors for one tensor", "tensor<?xf32> ->", "[[1],[2]]",
     "argument 1: the function takes 1 by position" LIST_HINT,
     "at most 1 arguments", ""},
    {"scalars for one scalar", "i8 ->", "[1,2]",
     "argument 1: the function takes 1 by position", "at most 1 arguments", ""},
    {"escaped echo", "a: i8 ->", "{\"kwargs\":{\"\\n\":1}}",
     "there is no argument '\\x0a'; there is 'a'", "", "\\x0a"},
};

static void messages_name_the_thing(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const message_row_t, row, messages) {
    fc_test_call_t call;
    fc_test_call_init(&call, row->types, NULL);
    fc_error_t err;
    assert_int_not_equal(fc_test_call_decode(&call, fc_str(row->body), &err),
                         FC_OK);
    assert_string_equal(err.message, row->message);
    assert_string_equal(err.expected, row->expected);
    assert_string_equal(err.got, row->got);
    fc_test_call_deinit(&call);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(documents_bind),    FC_TEST(containers_bind),
      FC_TEST(v1_bind),           FC_TEST(sip_bind),
      FC_TEST(wrong_inputs_bind), FC_TEST(messages_name_the_thing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
//
// The cases of gRPC's interoperability tests, run by Go's library on the services of a
// farcalld: interop HOST:PORT. Messages are written field by field, so no .proto file
// is needed. Each failing case is printed; the exit status is their number.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const service = "/inference.GRPCInferenceService/"

// A codec that passes messages as bytes.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(value any) ([]byte, error) {
	return *value.(*[]byte), nil
}
func (raw) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = bytes.Clone(data)
	return nil
}

var (
	address string
	channel *grpc.ClientConn
)

func call(ctx context.Context, method string, request []byte,
	options ...grpc.CallOption) ([]byte, error) {
	var answer []byte
	err := channel.Invoke(ctx, method, &request, &answer,
		append(options, grpc.ForceCodec(raw{}))...)
	return answer, err
}

func text(message []byte, number protowire.Number, value string) []byte {
	message = protowire.AppendTag(message, number, protowire.BytesType)
	return protowire.AppendString(message, value)
}

// A ModelInferRequest with one or more tensors: {1 model, 5 {1 name, 2 type, 3 shape},
// 7 raw}.
func infer(model, datatype string, shape uint64, tensors map[string][]byte,
	names ...string) []byte {
	message := text(nil, 1, model)
	for _, name := range names {
		input := text(text(nil, 1, name), 2, datatype)
		if shape != 0 {
			dims := protowire.AppendVarint(nil, shape)
			if datatype == "INT32" {
				dims = append([]byte{1}, dims...)
			}
			input = text(input, 3, string(dims))
		}
		message = text(message, 5, string(input))
	}
	for _, name := range names {
		message = text(message, 7, string(tensors[name]))
	}
	return message
}

func simple(model string) []byte {
	tensors := map[string][]byte{"INPUT0": make([]byte, 64), "INPUT1": make([]byte, 64)}
	for i := range 16 {
		binary.LittleEndian.PutUint32(tensors["INPUT0"][4*i:], uint32(i))
	}
	return infer(model, "INT32", 16, tensors, "INPUT0", "INPUT1")
}

// A call that keeps its thread busy for `ms` milliseconds.
func spinning(ms uint64) []byte {
	return infer("crash.spin", "INT64", 0,
		map[string][]byte{"0": binary.LittleEndian.AppendUint64(nil, ms)}, "0")
}

func field(message []byte, wanted protowire.Number) []byte {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil
		}
		message = message[size:]
		if number == wanted && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		size = protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return nil
		}
		message = message[size:]
	}
	return nil
}

func wants(err error, code codes.Code) error {
	if status.Code(err) != code {
		return fmt.Errorf("%v, not %v", err, code)
	}
	return nil
}

func served(ctx context.Context) error {
	answer, err := call(ctx, service+"ModelInfer", simple("simple"))
	if err == nil && len(field(answer, 6)) != 64 {
		err = fmt.Errorf("an answer of %d bytes", len(answer))
	}
	return err
}

// ---------------------------------------------------------------------------

func emptyUnary(ctx context.Context) error {
	answer, err := call(ctx, service+"ServerLive", nil)
	if err == nil && !bytes.Equal(answer, []byte{8, 1}) {
		err = fmt.Errorf("%v", answer)
	}
	return err
}

// A tensor larger than windows, frames and blocks comes back unchanged.
func largeUnary(ctx context.Context, options ...grpc.CallOption) error {
	const count = 3 << 20
	sent := make([]byte, 0, 4*count)
	for i := uint32(0); i < count; i++ {
		sent = binary.LittleEndian.AppendUint32(sent, i*2654435761&0x3fffffff)
	}
	answer, err := call(ctx, service+"ModelInfer", infer("identity.fp32", "FP32", count,
		map[string][]byte{"INPUT0": sent}, "INPUT0"),
		append(options, grpc.MaxCallRecvMsgSize(1<<30))...)
	if err == nil && !bytes.Equal(field(answer, 6), sent) {
		err = fmt.Errorf("another tensor came back")
	}
	return err
}

func compressed(ctx context.Context) error {
	return largeUnary(ctx, grpc.UseCompressor(gzip.Name))
}

var both = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

func stream(ctx context.Context) (grpc.ClientStream, error) {
	return channel.NewStream(ctx, both, service+"ModelStreamInfer", grpc.ForceCodec(raw{}))
}

func cancelAfterBegin(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	talk, err := stream(inner)
	cancel()
	if err != nil {
		return err
	}
	var answer []byte
	if err := wants(talk.RecvMsg(&answer), codes.Canceled); err != nil {
		return err
	}
	return served(ctx)
}

func cancelAfterFirstAnswer(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	talk, err := stream(inner)
	if err != nil {
		return err
	}
	request := simple("simple")
	var answer []byte
	if err := talk.SendMsg(&request); err != nil {
		return err
	}
	if err := talk.RecvMsg(&answer); err != nil {
		return err
	}
	cancel()
	if err := wants(talk.RecvMsg(&answer), codes.Canceled); err != nil {
		return err
	}
	return served(ctx)
}

// Cancels a running call, which would otherwise take an hour.
func cancelRunning(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := call(inner, service+"ModelInfer", spinning(3600_000))
	if err := wants(err, codes.Canceled); err != nil {
		return err
	}
	return served(ctx)
}

func deadline(ctx context.Context) error {
	inner, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err := call(inner, service+"ModelInfer", spinning(3600_000))
	if err := wants(err, codes.DeadlineExceeded); err != nil {
		return err
	}
	inner, cancel = context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	talk, err := stream(inner)
	if err == nil {
		var answer []byte
		err = talk.RecvMsg(&answer)
	}
	if err := wants(err, codes.DeadlineExceeded); err != nil {
		return err
	}
	return served(ctx)
}

// The status message equals that of the same error over HTTP, whatever characters it
// contains.
func specialStatus(ctx context.Context) error {
	const name = "\t\nspace\r\nBMP ☺ and non-BMP 😈 100%\t\n"
	reply, err := http.Get("http://" + address + "/v2/models/" + url.PathEscape(name))
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	var document struct{ Code, Error string }
	if err := json.NewDecoder(reply.Body).Decode(&document); err != nil {
		return err
	}
	_, err = call(ctx, service+"ModelMetadata", text(nil, 1, name))
	if err := wants(err, codes.NotFound); err != nil {
		return err
	}
	found := status.Convert(err).Message()
	if found != document.Error || !strings.Contains(found, "☺ and non-BMP 😈 100%") {
		return fmt.Errorf("%q, and over HTTP %q", found, document.Error)
	}
	return nil
}

// Unknown request fields are not refused, and the details of an error come as fields.
func customMetadata(ctx context.Context) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "x-grpc-test-echo-initial", "a value",
		"x-grpc-test-echo-trailing-bin", "\x0a\x0b\x0a\x0b\xab\x00", "x-twice", "1", "x-twice", "2")
	if err := served(ctx); err != nil {
		return err
	}
	var trailer metadata.MD
	wrong := infer("simple", "INT32", 16, map[string][]byte{"INPUT0": nil, "INPUT1": nil},
		"INPUT0", "INPUT1")
	_, err := call(ctx, service+"ModelInfer", wrong, grpc.Trailer(&trailer))
	if err := wants(err, codes.InvalidArgument); err != nil {
		return err
	}
	for _, detail := range status.Convert(err).Details() {
		if bad, is := detail.(*errdetails.BadRequest); is {
			violations := bad.GetFieldViolations()
			if len(violations) == 1 && violations[0].GetField() == "/inputs/0" &&
				len(trailer.Get("farcall-error-code")) == 1 {
				return nil
			}
		}
	}
	return fmt.Errorf("%v, %v", status.Convert(err).Details(), trailer)
}

func unimplementedMethod(ctx context.Context) error {
	_, err := call(ctx, service+"ModelTrain", nil)
	return wants(err, codes.Unimplemented)
}

func unimplementedService(ctx context.Context) error {
	_, err := call(ctx, "/grpc.testing.UnimplementedService/UnimplementedCall", nil)
	return wants(err, codes.Unimplemented)
}

func emptyStream(ctx context.Context) error {
	talk, err := stream(ctx)
	if err != nil {
		return err
	}
	if err := talk.CloseSend(); err != nil {
		return err
	}
	var answer []byte
	if err := talk.RecvMsg(&answer); err != io.EOF {
		return fmt.Errorf("%v, not the end", err)
	}
	return nil
}

func main() {
	cases := []struct {
		name string
		run  func(context.Context) error
	}{
		{"empty_unary", emptyUnary},
		{"empty_stream", emptyStream},
		{"large_unary", func(ctx context.Context) error { return largeUnary(ctx) }},
		{"client_compressed_unary", compressed},
		{"cancel_after_begin", cancelAfterBegin},
		{"cancel_after_first_response", cancelAfterFirstAnswer},
		{"cancel_running", cancelRunning},
		{"timeout_on_sleeping_server", deadline},
		{"special_status_message", specialStatus},
		{"custom_metadata", customMetadata},
		{"unimplemented_method", unimplementedMethod},
		{"unimplemented_service", unimplementedService},
	}
	var err error
	address = os.Args[1]
	channel, err = grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	failed := 0
	for _, each := range cases {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		if err := each.run(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", each.name, err)
			failed++
		}
		cancel()
	}
	fmt.Printf("interop: %d of %d cases\n", len(cases)-failed, len(cases))
	os.Exit(failed)
}

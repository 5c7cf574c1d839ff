// Package interlock is a client of Interlock, a service in which every record is an entity in
// a workflow.
//
// A [Client] sends requests. A [Member] executes what workflows call by name: processors,
// criteria, schedule functions, and the actions of step workflows. Both use CloudEvents over
// one multiplexed gRPC stream.
//
// The types of requests and answers, the error codes and a method for every operation are in
// the package api, which is generated from the server's protocol; every [Session], and so
// every client, has these methods. The most common ones have short forms, such as
// [Session.Create] and [Session.Search].
//
// Numbers of documents keep their digits: documents are raw JSON, and numbers that are decoded
// into values of the type any become json.Number.
//
// Failed requests are an [Error]. Where a stream or a call of the server belongs to a trace,
// the trace is continued by OpenTelemetry with the attribute traceparent of events.
package interlock

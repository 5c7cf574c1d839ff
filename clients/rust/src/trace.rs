//! The traces that calls and requests continue (W3C Trace Context).

/// The texts of `traceparent` and `tracestate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) parent: Option<String>,
    pub(crate) state: Option<String>,
}

#[cfg(not(feature = "opentelemetry"))]
mod exported {
    use super::Trace;

    pub(crate) fn continue_in(_: &tracing::Span, _: &Trace) {}

    pub(crate) fn current() -> Option<Trace> {
        None
    }
}

#[cfg(feature = "opentelemetry")]
mod exported {
    use opentelemetry::{
        Context,
        trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
    };
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    use super::Trace;

    /// Makes a span a part of the trace, if there is one.
    pub(crate) fn continue_in(span: &tracing::Span, trace: &Trace) {
        if let Some(parent) = context(trace) {
            let parent = Context::new().with_remote_span_context(parent);
            // Without a layer that exports spans there is nothing to continue.
            let _ = span.set_parent(parent);
        }
    }

    /// The trace of the current span, if it is exported.
    pub(crate) fn current() -> Option<Trace> {
        let context = tracing::Span::current().context();
        let span = context.span();
        let this = span.span_context();
        this.is_valid().then(|| Trace {
            parent: Some(format!(
                "00-{}-{}-{:02x}",
                this.trace_id(),
                this.span_id(),
                this.trace_flags().to_u8()
            )),
            state: Some(this.trace_state().header()).filter(|state| !state.is_empty()),
        })
    }

    fn context(trace: &Trace) -> Option<SpanContext> {
        let mut parts = trace.parent.as_deref()?.split('-').skip(1);
        let trace_id = TraceId::from_hex(parts.next()?).ok()?;
        let span_id = SpanId::from_hex(parts.next()?).ok()?;
        let flags = u8::from_str_radix(parts.next()?, 16).ok()?;
        let state = trace.state.as_deref().unwrap_or_default();
        let state = state.parse::<TraceState>().unwrap_or_default();
        let made = SpanContext::new(trace_id, span_id, TraceFlags::new(flags), true, state);
        made.is_valid().then_some(made)
    }
}

pub(crate) use exported::{continue_in, current};

#[cfg(all(test, feature = "opentelemetry"))]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    fn given(parent: &str) -> Trace {
        Trace {
            parent: Some(parent.to_owned()),
            state: Some("vendor=1".to_owned()),
        }
    }

    #[test]
    fn a_span_continues_the_trace_of_its_call_and_requests_that_of_the_span() {
        let tracer = SdkTracerProvider::builder().build().tracer("test");
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            assert_eq!(current(), None, "there is no span");
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let span = tracing::info_span!("call");
            continue_in(&span, &given(parent));
            let found = span.in_scope(current).expect("a trace");
            let sent = found.parent.expect("a parent");
            assert!(
                sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-"),
                "{sent}"
            );
            assert!(
                sent.ends_with("-01") && sent != parent,
                "{sent} names the span itself"
            );
            assert_eq!(found.state.as_deref(), Some("vendor=1"));
            for invalid in ["", "00", "00-xyz-b7ad6b7169203331-01", "00-0-0-00"] {
                let span = tracing::info_span!("call");
                continue_in(&span, &given(invalid));
                let own = span.in_scope(current).expect("a trace of its own");
                assert!(!own.parent.expect("a parent").contains("0af7651916cd43dd"));
            }
        });
    }

    #[test]
    fn without_a_layer_that_exports_spans_there_is_no_trace() {
        let span = tracing::info_span!("call");
        continue_in(
            &span,
            &given("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        );
        assert_eq!(span.in_scope(current), None);
    }
}

// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
/** Requests, answers, operations and error codes of the server; all of it is generated. */
@NullMarked
package interlock.client.api;

import org.jspecify.annotations.NullMarked;

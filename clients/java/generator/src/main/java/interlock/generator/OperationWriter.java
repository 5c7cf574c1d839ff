package interlock.generator;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Writes a method for each operation. */
record OperationWriter(Protocol protocol) {

    Map<String, String> files() {
        Map<String, String> files = new TreeMap<>();
        files.put("Operations.java", operations());
        files.put("AsyncOperations.java", asyncOperations());
        for (Protocol.Operation operation : protocol.operations()) {
            if (operation.answers().size() > 1) {
                files.put(operation.union() + ".java", union(operation));
            }
        }
        return files;
    }

    private String operations() {
        StringBuilder out = new StringBuilder(Text.header()).append("""
                package interlock.client.api;

                import interlock.client.Answers;
                import interlock.client.Caller;
                import interlock.client.RequestOption;
                import java.util.Set;

                /**
                 * All operations of the server. Each method waits for the answer; the streamed ones return at once,
                 * and are read as the answer arrives.
                 *
                 * <p>A failed request is an {@link interlock.client.InterlockException}.
                 */
                public final class Operations {

                    private static final Set<String> STREAMED = Set.of(
                            %s);

                    private final Caller caller;

                    /** Operations whose requests that caller sends. */
                    public Operations(Caller caller) {
                        this.caller = caller;
                    }

                    /** Whether a request of that type is answered by several events. */
                    public static boolean isStreamed(String eventType) {
                        return STREAMED.contains(eventType);
                    }
                """.formatted(streamed()));
        for (Protocol.Operation operation : protocol.operations()) {
            String result = operation.isStreaming() ? "Answers<" + operation.answer() + ">" : operation.answer();
            String method = !operation.isStreaming() ? "call" : operation.isEndless() ? "listen" : "stream";
            String answers = operation.answer() + ".class";
            if (operation.answers().size() > 1) {
                answers = operation.union() + ".TYPES";
            }
            out.append('\n').append(comment(operation)).append("""
                        public %s %s(%s request, RequestOption... options) {
                            return caller.%s(request, %s, options);
                        }
                    """.formatted(result, operation.method(), operation.request(), method, answers));
        }
        return out.append("}\n").toString();
    }

    /** The types of requests that are answered by several events. */
    private String streamed() {
        return protocol.operations().stream().filter(Protocol.Operation::isStreaming)
                .map(operation -> '"' + operation.request() + '"').collect(Collectors.joining(",\n            "));
    }

    private String asyncOperations() {
        StringBuilder out = new StringBuilder(Text.header()).append("""
                package interlock.client.api;

                import interlock.client.Caller;
                import interlock.client.RequestOption;
                import java.util.concurrent.CompletableFuture;

                /**
                 * All operations of the server with one answer. No method waits: the answer completes the future.
                 * A failed request completes it with an {@link interlock.client.InterlockException}. A future that
                 * is completed otherwise, by {@code cancel} or {@code orTimeout} for instance, cancels the request
                 * on the server.
                 */
                public final class AsyncOperations {

                    private final Caller caller;

                    /** Operations whose requests that caller sends. */
                    public AsyncOperations(Caller caller) {
                        this.caller = caller;
                    }
                """);
        for (Protocol.Operation operation : protocol.operations()) {
            if (operation.isStreaming()) {
                continue;
            }
            out.append('\n').append(comment(operation)).append("""
                        public CompletableFuture<%s> %s(%s request, RequestOption... options) {
                            return caller.callAsync(request, %s.class, options);
                        }
                    """.formatted(operation.answer(), operation.method(), operation.request(), operation.answer()));
        }
        return out.append("}\n").toString();
    }

    private String comment(Protocol.Operation operation) {
        String article = "AEIOU".indexOf(operation.request().charAt(0)) < 0 ? "a" : "an";
        StringBuilder text = new StringBuilder("Sends %s %s.".formatted(article, operation.request()));
        String description = protocol.files().get(operation.request()).description();
        if (!description.isEmpty()) {
            text.append('\n').append(Text.sentence(Text.prose(description)));
        }
        if (!operation.role().isEmpty()) {
            text.append("\nThe caller needs the role ").append(operation.role()).append('.');
        }
        if (operation.isEndless()) {
            text.append("\nThe answer has no end; it does not resume after a lost connection.");
        }
        return Text.comment("    ", text.toString());
    }

    private String union(Protocol.Operation operation) {
        String all = String.join(", ", operation.answers());
        StringBuilder types = new StringBuilder();
        operation.answers().forEach(one -> types.append(types.isEmpty() ? "" : ", ").append(one).append(".class"));
        return Text.header() + """
                package interlock.client.api;

                import java.util.List;

                /** An event of the answer to %s. */
                public sealed interface %s permits %s {

                    /** What it may be. */
                    List<Class<? extends %s>> TYPES = List.of(%s);
                }
                """.formatted(operation.request(), operation.union(), all, operation.union(), types);
    }
}

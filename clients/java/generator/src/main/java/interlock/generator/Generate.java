package interlock.generator;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Writes the sources of the client that follow from the protocol of the server: the package
 * {@code interlock.client.api} from {@code clients/schema}, the CloudEvent message from
 * {@code proto}.
 *
 * <p>{@code mvn -Pgenerate -pl generator compile} executes it. A test compares what it would write
 * with what is committed.
 */
public final class Generate {

    private static final String SOURCES = "clients/java/client/src/main/java/interlock/client";

    private Generate() {}

    /** Generates; the arguments are the root of the repository and the path of protoc. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path root = Path.of(arguments[0]).toRealPath();
        write(root.resolve(SOURCES).resolve("api"), api(root));
        Messages.write(root, Path.of(arguments[1]).toRealPath());
    }

    /** The generated files of the package {@code interlock.client.api}, by their names. */
    static Map<String, String> api(Path root) throws IOException {
        Protocol protocol = Protocol.read(root.resolve("clients/schema"));
        Map<String, String> files = new TreeMap<>(new Types(protocol).files());
        files.putAll(new OperationWriter(protocol).files());
        files.put("ErrorCodes.java", Codes.source(protocol));
        files.put("package-info.java", Text.header() + """
                /** Requests, answers, operations and error codes of the server; all of it is generated. */
                @NullMarked
                package interlock.client.api;

                import org.jspecify.annotations.NullMarked;
                """);
        return files;
    }

    /** The folder with what is committed. */
    static Path committed(Path root) {
        return root.resolve(SOURCES).resolve("api");
    }

    private static void write(Path folder, Map<String, String> files) throws IOException {
        Files.createDirectories(folder);
        try (Stream<Path> present = Files.list(folder)) {
            for (Path file : present.toList()) {
                if (!files.containsKey(file.getFileName().toString())) {
                    Files.delete(file);
                }
            }
        }
        for (Map.Entry<String, String> file : files.entrySet()) {
            Path path = folder.resolve(file.getKey());
            if (!Files.exists(path) || !Files.readString(path).equals(file.getValue())) {
                Files.writeString(path, file.getValue());
            }
        }
    }
}

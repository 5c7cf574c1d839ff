package interlock.generator;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * Writes the CloudEvent message with protoc, in a package of the client: the CloudEvents SDK has the
 * classes of the package that the protocol names, and a program may use that too.
 */
final class Messages {

    static final String FILE = "io/cloudevents/v1/cloudevents.proto";
    private static final String FOLDER = "clients/java/client/src/main/java/interlock/client/cloudevents";
    private static final String JAVA_PACKAGE = "option java_package = \"io.cloudevents.v1.proto\";";

    private Messages() {}

    static void write(Path root, Path protoc) throws IOException, InterruptedException {
        if (!protoc.toFile().setExecutable(true)) {
            throw new IOException("cannot make " + protoc + " executable");
        }
        Path work = Files.createTempDirectory("interlock");
        try {
            Path file = work.resolve("proto").resolve(FILE);
            Files.createDirectories(file.getParent());
            Files.writeString(file, relocated(root));
            copyImports(work.resolve("proto"));
            Path out = Files.createDirectories(work.resolve("java"));
            Process process = new ProcessBuilder(protoc.toString(), "--proto_path=" + work.resolve("proto"),
                    "--java_out=" + out, FILE).inheritIO().start();
            if (process.waitFor() != 0) {
                throw new IOException("protoc failed");
            }
            Path target = Files.createDirectories(root.resolve(FOLDER));
            try (Stream<Path> generated = Files.walk(out)) {
                for (Path one : generated.filter(Files::isRegularFile).toList()) {
                    String source = "// " + stamp(root) + "\n" + Files.readString(one);
                    Files.writeString(target.resolve(one.getFileName().toString()), source);
                }
            }
        } finally {
            deleteAll(work);
        }
    }

    /** What every committed file begins with, if it was made from the proto file as it is. */
    static String stamp(Path root) throws IOException {
        return "From proto/" + FILE + " of the SHA-256 " + digest(Files.readString(root.resolve("proto").resolve(FILE)));
    }

    /** The committed files. */
    static List<Path> committed(Path root) throws IOException {
        try (Stream<Path> files = Files.list(root.resolve(FOLDER))) {
            return files.toList();
        }
    }

    /** Copies the files that the message imports; protobuf-java has them. */
    private static void copyImports(Path folder) throws IOException {
        for (String name : List.of("google/protobuf/any.proto", "google/protobuf/timestamp.proto")) {
            try (InputStream source = Messages.class.getClassLoader().getResourceAsStream(name)) {
                if (source == null) {
                    throw new IOException("protobuf-java has no " + name);
                }
                Files.createDirectories(folder.resolve(name).getParent());
                Files.copy(source, folder.resolve(name));
            }
        }
    }

    private static String relocated(Path root) throws IOException {
        String source = Files.readString(root.resolve("proto").resolve(FILE));
        if (!source.contains(JAVA_PACKAGE)) {
            throw new IOException(FILE + " has no `" + JAVA_PACKAGE + "`");
        }
        return source.replace(JAVA_PACKAGE, "option java_package = \"interlock.client.cloudevents\";");
    }

    private static String digest(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static void deleteAll(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}

package interlock.conformance;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Executes the commands of the conformance runner; see clients/conformance/README.md. */
public final class Main {

    private Main() {}

    /** Executes commands until standard input ends. */
    public static void main(String[] arguments) throws IOException {
        Program program = new Program(System.out);
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                program.begin(line);
            }
        }
        System.exit(0); // without waiting for handlers
    }
}

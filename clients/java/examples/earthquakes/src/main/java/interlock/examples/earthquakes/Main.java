package interlock.examples.earthquakes;

import interlock.client.ComputeUnavailableException;
import interlock.client.ConnectionLostException;
import interlock.client.InterlockClient;
import interlock.client.InterlockException;
import interlock.client.InterlockMember;
import interlock.client.Session;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Loads a week of earthquake reports, has some of them reviewed, and shows what became of them.
 *
 * <p>It is the loader, with {@code --with-member} the compute member as well; or, with
 * {@code --member}, the compute member alone, until it is stopped with Ctrl-C or SIGTERM.
 */
public final class Main {

    private static final String USAGE = """
            earthquakes [--with-member | --member] [--server host:port] [--files folder] [--timeout seconds]

              --with-member  be the compute member as well, on one stream
              --member       be the compute member only
              --server       its gRPC port; localhost:9090 by default
              --files        the folder with models, workflows and data
              --timeout      how long to wait for the server; 5 s by default
            """;

    private String server = "localhost:9090";
    private Path files = Path.of("../python/examples/earthquakes");
    private Duration timeout = Duration.ofSeconds(5);
    private boolean isMember;
    private boolean isLoader = true;

    private Main() {}

    /** Runs the example. */
    public static void main(String[] arguments) throws IOException {
        try {
            run(arguments, System.out);
        } catch (ConnectionLostException e) {
            System.err.println("\n" + e.getMessage() + "\nIs the server running? `interlock` starts it.");
            System.exit(1);
        } catch (ComputeUnavailableException e) {
            System.err.println("\nNo member serves the tag `" + Processors.TAG + "`, so the reports cannot be assessed.\n"
                    + "Start it with --member in another terminal, or add --with-member.");
            System.exit(1);
        } catch (InterlockException | IllegalArgumentException e) {
            System.err.println("\n" + e.getMessage());
            System.exit(1);
        }
    }

    static void run(String[] arguments, PrintStream out) throws IOException {
        Main main = new Main();
        main.read(arguments);
        if (!main.isMember) {
            try (InterlockClient client = InterlockClient.builder(main.server).connectTimeout(main.timeout).build()) {
                client.connect();
                main.load(client, out);
            }
            return;
        }
        try (InterlockMember member =
                InterlockMember.builder(main.server).connectTimeout(main.timeout).tags(Processors.TAG).build()) {
            Processors.register(member);
            if (!main.isLoader) {
                member.run();
                return;
            }
            member.start();
            main.load(member, out);
        }
    }

    private void load(Session session, PrintStream out) throws IOException {
        new Loader(session, files, out).load();
    }

    private void read(String[] arguments) {
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--with-member" -> isMember = true;
                case "--member" -> {
                    isMember = true;
                    isLoader = false;
                }
                case "--server" -> server = value(arguments, ++i);
                case "--files" -> files = Path.of(value(arguments, ++i));
                case "--timeout" -> timeout = Duration.ofMillis((long) (1000 * Double.parseDouble(value(arguments, ++i))));
                default -> throw new IllegalArgumentException(USAGE);
            }
        }
    }

    private static String value(String[] arguments, int index) {
        if (index >= arguments.length) {
            throw new IllegalArgumentException(USAGE);
        }
        return arguments[index];
    }
}

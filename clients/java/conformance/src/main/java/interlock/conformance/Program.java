package interlock.conformance;

import interlock.client.Answers;
import interlock.client.InterlockClient;
import interlock.client.InterlockMember;
import interlock.client.Json;
import interlock.client.Session;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Clients, members and feeds by the names that the runner gives them. */
final class Program {

    private final PrintStream out;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final AtomicLong calls = new AtomicLong();

    // Guarded by this.
    private final Map<String, InterlockClient> clients = new HashMap<>();
    private final Map<String, InterlockMember> members = new HashMap<>();
    private final Map<String, Answers<?>> feeds = new HashMap<>();
    private final Map<String, CountDownLatch> gates = new HashMap<>();

    Program(OutputStream out) {
        this.out = new PrintStream(out, true, StandardCharsets.UTF_8);
    }

    /** Begins to execute the command of a line. */
    void begin(String line) {
        threads.execute(() -> execute(Json.parse(line).decode(Command.class)));
    }

    private void execute(Command command) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", command.id());
        try {
            answer.put("ok", done(command));
        } catch (Exception e) {
            answer.put("error", Asking.failure(e));
        }
        say(answer);
    }

    void say(Map<String, ? extends @Nullable Object> line) {
        String text = Json.of(line).text();
        synchronized (out) {
            out.println(text);
        }
    }

    long nextCall() {
        return calls.incrementAndGet();
    }

    synchronized CountDownLatch gate(String name) {
        return gates.computeIfAbsent(name, unknown -> new CountDownLatch(1));
    }

    private Object done(Command command) {
        switch (command.action()) {
            case "hello":
                return Map.of("language", "java", "protocol", 1);
            case "connect":
                connect(command);
                break;
            case "join":
                member(command).start();
                break;
            case "serve":
                threads.execute(member(command)::run);
                break;
            case "call":
                return Asking.ask(session(command.on()), command.type(), command.payload(), command.key(), command.timeoutMs());
            case "calls":
                return callMany(command);
            case "collect":
                return Map.of("items", Asking.collect(session(command.on()), command.type(), command.payload()));
            case "read-each":
                return Map.of("read", Asking.readEach(session(command.on()), command.payload()));
            case "follow":
                follow(command);
                break;
            case "unfollow":
                unfollow(command.feed());
                break;
            case "open":
                gate(command.gate()).countDown();
                break;
            case "leave":
                removed(members, command.member()).close();
                break;
            case "close":
                removed(clients, command.client()).close();
                break;
            case "reset":
                reset();
                break;
            default:
                throw new UnsupportedOperationException("there is no command " + command.action());
        }
        return Map.of();
    }

    private synchronized <T> T removed(Map<String, T> all, String name) {
        T one = all.remove(name);
        if (one == null) {
            throw new IllegalArgumentException("there is no " + name);
        }
        return one;
    }

    private synchronized Session session(String name) {
        Session session = members.containsKey(name) ? members.get(name) : clients.get(name);
        if (session == null) {
            throw new IllegalArgumentException("there is no client or member " + name);
        }
        return session;
    }

    private void connect(Command command) {
        InterlockClient.Builder builder = InterlockClient.builder(command.target());
        command.access().applyTo(builder);
        InterlockClient client = builder.build();
        synchronized (this) {
            clients.put(command.as(), client);
        }
        client.connect();
    }

    /** Makes a member; it has not joined yet. */
    private InterlockMember member(Command command) {
        InterlockMember.Builder builder = InterlockMember.builder(command.target());
        command.access().applyTo(builder);
        if (command.tags() != null) {
            builder.tags(command.tags().toArray(String[]::new));
        }
        if (command.concurrency() != null) {
            builder.concurrency(command.concurrency());
        }
        InterlockMember member = builder.build();
        for (Command.Script script : command.handlers()) {
            new ScriptedHandler(this, member, command.as(), script, command.quiet()).register();
        }
        synchronized (this) {
            members.put(command.as(), member);
        }
        return member;
    }

    private Map<String, Object> callMany(Command command) {
        Session session = session(command.on());
        List<CompletableFuture<Json>> answers = new ArrayList<>();
        for (int i = 0; i < command.count(); i++) {
            answers.add(Asking.askAsync(session, command.type(), command.payload()));
        }
        int answered = 0;
        Map<String, Integer> failed = new TreeMap<>();
        for (CompletableFuture<Json> answer : answers) {
            try {
                answer.join();
                answered++;
            } catch (CompletionException e) {
                failed.merge(String.valueOf(Asking.failure(e).get("code")), 1, Integer::sum);
            }
        }
        return Map.of("answered", answered, "failed", failed);
    }

    private void follow(Command command) {
        Answers<Map<String, @Nullable Object>> items = FeedItems.of(session(command.on()), command.type(), command.payload());
        synchronized (this) {
            feeds.put(command.as(), items);
        }
        threads.execute(() -> {
            Map<String, Object> ended = new LinkedHashMap<>(Map.of("event", "ended", "feed", command.as()));
            try {
                for (Map<String, @Nullable Object> item : items) {
                    say(Map.of("event", "item", "feed", command.as(), "item", item));
                }
            } catch (RuntimeException e) {
                ended.put("error", Asking.failure(e));
            }
            boolean isFollowed;
            synchronized (this) {
                isFollowed = feeds.remove(command.as(), items);
            }
            if (isFollowed) {
                say(ended);
            }
        });
    }

    private void unfollow(String name) {
        removed(feeds, name).close();
    }

    private void reset() {
        List<Runnable> ends = new ArrayList<>();
        synchronized (this) {
            feeds.values().forEach(Answers::close);
            members.values().forEach(member -> ends.add(() -> member.stop(Duration.ZERO)));
            clients.values().forEach(client -> ends.add(client::close));
            feeds.clear();
            members.clear();
            clients.clear();
            gates.clear();
        }
        CompletableFuture<?>[] ended = ends.stream().map(end -> CompletableFuture.runAsync(end, threads))
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(ended).join();
    }
}

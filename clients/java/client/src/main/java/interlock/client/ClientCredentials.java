package interlock.client;

import interlock.client.api.ErrorCodes;
import java.math.BigDecimal;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Obtains tokens with the id and the secret of a client (the OAuth 2.0 client credentials grant). It
 * keeps a token until shortly before it expires, and gets another one at once if the server refuses
 * the one it has.
 *
 * <p>An endpoint that cannot be reached, is interrupted, or answers with what is neither a token nor a refusal is a
 * {@link ConnectionLostException}: members try again, requests until their connect timeout. A refusal is
 * {@code UNAUTHORIZED}. An address without an endpoint is {@link ClientCodes#INVALID_OPTIONS}: one that answers 404,
 * or as a server does that asks for a token (401 with the code {@code UNAUTHORIZED}).
 */
public final class ClientCredentials implements TokenSource {

    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    /** How long a token is used whose endpoint does not say how long it may be. */
    private static final Duration LIFE = Duration.ofMinutes(5);
    /** How long one is used at most before another one is obtained. */
    private static final Duration LIFE_MAX = Duration.ofDays(1);

    private final URI url;
    private final String authorization;
    private final HttpClient http;
    /** Held by the one that asks; the others wait for what it gets, unless they are interrupted. */
    private final ReentrantLock asking = new ReentrantLock();
    private volatile @Nullable Held held;

    private record Held(String token, long expires) {

        boolean isValid() {
            return System.nanoTime() - expires < 0;
        }
    }

    /**
     * @param url the token endpoint, such as {@code http://localhost:8080/api/oauth/token}
     */
    public ClientCredentials(URI url, String clientId, String clientSecret) {
        this(url, clientId, clientSecret, HttpClient.newBuilder().connectTimeout(TIMEOUT).build());
    }

    /**
     * The same with another HTTP client: one with an {@code SSLContext} for an endpoint that has an authority of its
     * own, or requires a certificate of its clients.
     */
    public ClientCredentials(URI url, String clientId, String clientSecret, HttpClient http) {
        this.url = url;
        this.http = http;
        String pair = encoded(clientId) + ":" + encoded(clientSecret);
        this.authorization = "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8));
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    @Override
    public String token() throws InterruptedException {
        asking.lockInterruptibly();
        try {
            Held known = held;
            if (known == null || !known.isValid()) {
                known = obtain();
                held = known;
            }
            return known.token;
        } finally {
            asking.unlock();
        }
    }

    @Override
    public void forget(String refused) {
        Held known = held;
        // One that was obtained meanwhile is another.
        if (known != null && known.token.equals(refused)) {
            held = null;
        }
    }

    private record Granted(@Nullable String access_token, @Nullable Json expires_in) {}

    private record Refused(@Nullable String error, @Nullable Map<String, Json> properties) {

        /** A server answers so whatever the path is, unless it is that of its token endpoint. */
        boolean isByServer() {
            return properties != null && properties.containsKey("errorCode")
                    && properties.get("errorCode").toString().equals('"' + ErrorCodes.UNAUTHORIZED + '"');
        }
    }

    private Held obtain() throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(url).timeout(TIMEOUT)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .header("Authorization", authorization)
                .POST(HttpRequest.BodyPublishers.ofString("grant_type=client_credentials"))
                .build();
        HttpResponse<String> response = answer(request);
        if (response.statusCode() != 200) {
            throw refusal(response.statusCode(), response.body());
        }
        Granted granted = read(response.body(), Granted.class);
        if (granted == null || granted.access_token == null || granted.access_token.isEmpty()) {
            // Proxies answer so for an endpoint that is being started.
            throw Failure.connectionLost(url + " answers with no token; is it the token endpoint?");
        }
        // A tenth of its life is left for the way to the server, and for differences of clocks.
        long life = life(granted.expires_in).toNanos() / 10 * 9;
        return new Held(granted.access_token, System.nanoTime() + life);
    }

    /** Reads the lifetime of a token in seconds: a number, which some endpoints write as a text. */
    static Duration life(@Nullable Json expiresIn) {
        try {
            BigDecimal seconds = new BigDecimal(expiresIn == null ? "" : expiresIn.text().replace("\"", ""));
            long most = LIFE_MAX.toSeconds();
            return seconds.signum() < 0 ? LIFE : Duration.ofSeconds(seconds.min(BigDecimal.valueOf(most)).longValue());
        } catch (NumberFormatException e) {
            return LIFE;
        }
    }

    private HttpResponse<String> answer(HttpRequest request) throws InterruptedException {
        // The timeout of a request ends with the headers of the answer; its body may stall, too.
        CompletableFuture<HttpResponse<String>> answer = http.sendAsync(request, HttpResponse.BodyHandlers.ofString());
        try {
            return answer.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw Failure.connectionLost("cannot obtain a token from " + url + ": " + e.getCause());
        } catch (TimeoutException e) {
            throw Failure.connectionLost("no answer from " + url);
        } finally {
            answer.cancel(true);
        }
    }

    /** What JSON says; null for what is not JSON, or of another form. */
    private static <T> @Nullable T read(String body, Class<T> type) {
        try {
            return JsonText.read(body, type);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /**
     * What an answer without a token means. Only what the endpoint itself says is final: anything else may come from
     * a proxy, and pass.
     */
    private InterlockException refusal(int status, String body) {
        boolean isFinal = status == 400 || status == 401 || status == 403;
        Refused refused = isFinal ? read(body, Refused.class) : null;
        if (status == 404 || status == 401 && refused != null && refused.isByServer()) {
            return new Failure(ClientCodes.INVALID_OPTIONS,
                    url + " answers " + status + ": there is no token endpoint; check the URL", false).exception();
        }
        if (refused != null && refused.error != null) {
            return new Failure(ErrorCodes.UNAUTHORIZED,
                    url + " refuses the client: " + JsonText.shortened(body), false).exception();
        }
        return Failure.connectionLost("cannot obtain a token: " + url + " answers " + status);
    }
}

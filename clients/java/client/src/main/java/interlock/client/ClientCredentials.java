package interlock.client;

import interlock.client.api.ErrorCodes;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import org.jspecify.annotations.Nullable;

/**
 * Obtains tokens with the id and the secret of a client (the OAuth 2.0 client credentials grant). It
 * keeps a token until shortly before it expires, and gets another one at once if the server refuses
 * the one it has.
 */
public final class ClientCredentials implements TokenSource {

    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final URI url;
    private final String authorization;
    private final HttpClient http;
    private @Nullable String token;
    private long expires;

    /**
     * @param url the token endpoint, such as {@code http://localhost:8080/api/oauth/token}
     */
    public ClientCredentials(URI url, String clientId, String clientSecret) {
        this(url, clientId, clientSecret, HttpClient.newBuilder().connectTimeout(TIMEOUT).build());
    }

    /** The same with an HTTP client of its own settings. */
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
    public synchronized String token() throws InterruptedException {
        if (token == null || System.nanoTime() - expires >= 0) {
            obtain();
        }
        return token;
    }

    @Override
    public synchronized void forget(String refused) {
        if (refused.equals(token)) {
            token = null;
        }
    }

    private record Granted(@Nullable String access_token, long expires_in) {}

    private void obtain() throws InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(url).timeout(TIMEOUT)
                .header("Content-Type", "application/x-www-form-urlencoded")
                .header("Authorization", authorization)
                .POST(HttpRequest.BodyPublishers.ofString("grant_type=client_credentials"))
                .build();
        HttpResponse<String> response;
        try {
            response = http.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw Failure.connectionLost("cannot obtain a token from " + url + ": " + e);
        }
        int status = response.statusCode();
        if (status >= 500 || status == 429) {
            throw Failure.connectionLost("cannot obtain a token from " + url + ": HTTP " + status);
        }
        if (status != 200) {
            throw unauthorized(url + " refuses the client: " + JsonText.shortened(response.body()));
        }
        Granted granted;
        try {
            granted = JsonText.read(response.body(), Granted.class);
        } catch (IllegalArgumentException e) {
            throw unauthorized(url + " does not answer with a token; is it the token endpoint?");
        }
        if (granted.access_token == null) {
            throw unauthorized(url + " answers without a token; is it the token endpoint?");
        }
        token = granted.access_token;
        // A tenth of its life is left for the way to the server, and for differences of clocks.
        expires = System.nanoTime() + Duration.ofSeconds(granted.expires_in).toNanos() / 10 * 9;
    }

    private static InterlockException unauthorized(String reason) {
        return new Failure(ErrorCodes.UNAUTHORIZED, reason, false).exception();
    }
}

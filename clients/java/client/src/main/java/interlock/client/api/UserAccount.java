// Generated from clients/schema by `mvn -Pgenerate -pl generator compile`; do not edit.
package interlock.client.api;

import java.util.List;

/**
 * The caller, as authenticated.
 *
 * @param legalEntity The tenant.
 */
public record UserAccount(
        Subscription currentSubscription,
        LegalEntity legalEntity,
        List<Roles> roles,
        String userId,
        String userName) {

    /** The tenant. */
    public record LegalEntity(
            String id,
            String name) {}

    public record Roles(
            String id) {}
}

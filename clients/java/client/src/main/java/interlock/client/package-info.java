/**
 * A client of Interlock: it sends requests to a server, and executes the processors, criteria,
 * schedule functions and actions that workflows name.
 *
 * <p>Begin with {@link interlock.client.InterlockClient} or {@link interlock.client.InterlockMember}.
 */
@NullMarked
package interlock.client;

import org.jspecify.annotations.NullMarked;

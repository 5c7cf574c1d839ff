package interlock.conformance;

import interlock.client.Answers;
import interlock.client.Changes;
import interlock.client.Json;
import interlock.client.LiveSearch;
import interlock.client.Match;
import interlock.client.Session;
import interlock.client.api.EntityChangeEvent;
import interlock.client.api.EntityChangesSubscribeRequest;
import interlock.client.api.EntitySearchSubscribeRequest;
import interlock.client.api.RunHistoryEvent;
import interlock.client.api.RunHistorySubscribeRequest;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The items of endless answers, by the subscriptions that resume. */
final class FeedItems {

    private FeedItems() {}

    static Answers<Map<String, @Nullable Object>> of(Session session, String type, Json payload) {
        switch (type) {
            case "EntityChangesSubscribeRequest":
                return session.feeds().changes(changes(payload.decode(EntityChangesSubscribeRequest.class))).map(FeedItems::change);
            case "EntitySearchSubscribeRequest":
                EntitySearchSubscribeRequest live = payload.decode(EntitySearchSubscribeRequest.class);
                LiveSearch search = LiveSearch.of(live.model(), live.condition());
                if (live.fromSequence() != null) {
                    search.after(live.fromSequence());
                }
                if (Boolean.TRUE.equals(live.includeData())) {
                    search.withData();
                }
                return session.feeds().search(search).map(FeedItems::match);
            case "RunHistorySubscribeRequest":
                RunHistorySubscribeRequest run = payload.decode(RunHistorySubscribeRequest.class);
                long after = run.fromSequence() == null ? 0 : run.fromSequence();
                return session.feeds().run(run.runId(), after).map(FeedItems::runEvent);
            default:
                throw new IllegalArgumentException(type + " is not followed");
        }
    }

    private static Changes changes(EntityChangesSubscribeRequest wanted) {
        Changes changes = wanted.model() == null ? Changes.all() : Changes.of(wanted.model());
        if (wanted.states() != null) {
            changes.states(wanted.states().toArray(String[]::new));
        }
        if (wanted.fromSequence() != null) {
            changes.after(wanted.fromSequence());
        }
        if (Boolean.TRUE.equals(wanted.includeData())) {
            changes.withData();
        }
        return changes;
    }

    private static Map<String, @Nullable Object> change(EntityChangeEvent change) {
        Map<String, @Nullable Object> item = new LinkedHashMap<>();
        item.put("sequence", change.sequence());
        item.put("entityId", change.entityId());
        item.put("changeType", change.changeType());
        item.put("state", change.state());
        item.put("data", change.data());
        return item;
    }

    private static Map<String, @Nullable Object> match(Match match) {
        if (match instanceof Match.Found found) {
            Map<String, @Nullable Object> item = new LinkedHashMap<>();
            item.put("change", "matches");
            item.put("entityId", found.entity().id());
            item.put("state", found.entity().state());
            item.put("data", found.entity().data());
            return item;
        }
        EntityChangeEvent event = ((Match.Changed) match).event();
        Map<String, @Nullable Object> item = change(event);
        item.put("change", event.change());
        return item;
    }

    private static Map<String, @Nullable Object> runEvent(RunHistoryEvent event) {
        Map<String, @Nullable Object> item = new LinkedHashMap<>();
        item.put("sequence", event.sequence());
        item.put("eventType", event.eventType());
        return item;
    }
}

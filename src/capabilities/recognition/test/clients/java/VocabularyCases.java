import static parley.CaseRunner.expect;

import com.alibaba.dashscope.audio.asr.vocabulary.Vocabulary;
import com.alibaba.dashscope.audio.asr.vocabulary.VocabularyService;
import com.alibaba.dashscope.exception.ApiException;
import com.alibaba.dashscope.utils.Constants;
import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import parley.CaseRunner;

/**
 * VocabularyService of the Java SDK; started by vocabularies.test.ts. Each case runs in order and prints one JSON line,
 * {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a listening Parley.
 */
public final class VocabularyCases {
  private static final JsonArray WORDS =
      parseWords("[{\"text\": \"Okonkwo\", \"weight\": 4, \"lang\": \"en\"}, {\"text\": \"\u5317\u4eac\", \"weight\": 5}]");
  private static final JsonArray OTHERS = parseWords("[{\"text\": \"Ng\u0169g\u0129\", \"weight\": 1}]");

  public static void main(String[] args) {
    Map<String, CaseRunner.Case> cases = new LinkedHashMap<>();
    cases.put("creates, lists, queries, updates and deletes a vocabulary", VocabularyCases::wholeLife);
    cases.put("lists its vocabularies in pages, newest first, and by prefix", VocabularyCases::pages);
    cases.put("gets errors for unknown vocabularies and invalid entries", VocabularyCases::refusals);

    Constants.baseHttpApiUrl = System.getenv("ADDRESS") + "/api/v1";
    CaseRunner.run(cases);
  }

  private static void wholeLife() throws Exception {
    String id = service().createVocabulary("paraformer-v2", "test", WORDS).getVocabularyId();
    expect(id.startsWith("vocab-test-"), id);
    Vocabulary[] listed = service().listVocabulary(null);
    expect(listed.length == 1 && listed[0].getVocabularyId().equals(id), (Object) listed);
    expect(listed[0].getStatus().equals("OK") && listed[0].getGmtCreate().length() == 19, (Object) listed);
    expect(listed[0].getGmtModified().equals(listed[0].getGmtCreate()), (Object) listed);
    Vocabulary found = service().queryVocabulary(id);
    expect(found.getVocabulary().equals(WORDS), found);
    expect(found.getTargetModel().equals("paraformer-v2") && found.getStatus().equals("OK"), found);
    expect(found.getGmtCreate().equals(listed[0].getGmtCreate()) && !found.getGmtModified().isEmpty(), found);
    VocabularyService service = service();
    service.updateVocabulary(id, OTHERS);
    expect(!service.getLastRequestId().isEmpty());
    expect(service.queryVocabulary(id).getVocabulary().equals(OTHERS), service.queryVocabulary(id));
    service.deleteVocabulary(id);
    expect(service.listVocabulary(null).length == 0);
  }

  private static void pages() throws Exception {
    List<String> ids = new ArrayList<>();
    for (String prefix : List.of("one", "two", "one")) {
      // The order of vocabularies created in the same millisecond is undefined.
      for (long now = System.currentTimeMillis(); System.currentTimeMillis() == now; ) Thread.onSpinWait();
      ids.add(0, service().createVocabulary("svc-asr", prefix, WORDS).getVocabularyId());
    }
    expect(getIds(service().listVocabulary(null, 0, 2)).equals(ids.subList(0, 2)), ids);
    expect(getIds(service().listVocabulary(null, 1, 2)).equals(ids.subList(2, 3)), ids);
    expect(service().listVocabulary(null, 2, 2).length == 0);
    expect(getIds(service().listVocabulary("one")).equals(List.of(ids.get(0), ids.get(2))), ids);
    for (String id : ids) service().deleteVocabulary(id);
  }

  private static void refusals() throws Exception {
    String id = service().createVocabulary("fun-asr", "test", WORDS).getVocabularyId();
    JsonArray bad = parseWords("[{\"text\": \"x\", \"weight\": 1}, {\"text\": \"y\", \"weight\": 1, \"lang\": \"ko\"}]");
    expectRefusal(
        "InvalidParameter", "input.vocabulary[1].lang must be one of zh, en, ja", () -> service().updateVocabulary(id, bad));
    expect(service().queryVocabulary(id).getVocabulary().equals(WORDS));
    service().deleteVocabulary(id);
    String unknown = "The Required resource not exist.";
    expectRefusal("BadRequest.ResourceNotExist", unknown, () -> service().queryVocabulary(id));
    expectRefusal("BadRequest.ResourceNotExist", unknown, () -> service().deleteVocabulary(id));
    expectRefusal("InvalidParameter", "input.prefix", () -> service().createVocabulary("fun-asr", "Test", WORDS));
    expectRefusal("InvalidParameter", "input.target_model", () -> service().createVocabulary("no-such", "test", WORDS));
  }

  private static VocabularyService service() {
    return new VocabularyService(System.getenv("KEY"));
  }

  private static JsonArray parseWords(String json) {
    return JsonParser.parseString(json).getAsJsonArray();
  }

  private static List<String> getIds(Vocabulary[] list) {
    return Arrays.stream(list).map(Vocabulary::getVocabularyId).collect(Collectors.toList());
  }

  private static void expectRefusal(String code, String message, CaseRunner.Case call) throws Exception {
    try {
      call.run();
    } catch (ApiException refusal) {
      expect(refusal.getStatus().getStatusCode() == 400, refusal);
      expect(refusal.getStatus().getCode().equals(code), refusal);
      expect(refusal.getStatus().getMessage().contains(message), refusal);
      return;
    }
    throw new AssertionError("ApiException was not thrown");
  }
}

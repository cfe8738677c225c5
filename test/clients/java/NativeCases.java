import static parley.CaseRunner.expect;

import com.alibaba.dashscope.aigc.generation.Generation;
import com.alibaba.dashscope.aigc.generation.GenerationLogprobs;
import com.alibaba.dashscope.aigc.generation.GenerationOutput;
import com.alibaba.dashscope.aigc.generation.GenerationParam;
import com.alibaba.dashscope.aigc.generation.GenerationResult;
import com.alibaba.dashscope.aigc.generation.GenerationUsage;
import com.alibaba.dashscope.aigc.multimodalconversation.MultiModalConversation;
import com.alibaba.dashscope.aigc.multimodalconversation.MultiModalConversationParam;
import com.alibaba.dashscope.aigc.multimodalconversation.MultiModalConversationResult;
import com.alibaba.dashscope.common.History;
import com.alibaba.dashscope.common.Message;
import com.alibaba.dashscope.common.MessageContentText;
import com.alibaba.dashscope.common.MultiModalMessage;
import com.alibaba.dashscope.common.ResultCallback;
import com.alibaba.dashscope.embeddings.BatchTextEmbedding;
import com.alibaba.dashscope.embeddings.TextEmbedding;
import com.alibaba.dashscope.embeddings.TextEmbeddingParam;
import com.alibaba.dashscope.embeddings.TextEmbeddingResult;
import com.alibaba.dashscope.exception.ApiException;
import com.alibaba.dashscope.protocol.Protocol;
import com.alibaba.dashscope.rerank.TextReRank;
import com.alibaba.dashscope.rerank.TextReRankOutput;
import com.alibaba.dashscope.rerank.TextReRankParam;
import com.alibaba.dashscope.rerank.TextReRankResult;
import com.alibaba.dashscope.tokenizers.Tokenization;
import com.alibaba.dashscope.tokenizers.TokenizationResult;
import com.alibaba.dashscope.tools.FunctionDefinition;
import com.alibaba.dashscope.tools.ToolBase;
import com.alibaba.dashscope.tools.ToolCallBase;
import com.alibaba.dashscope.tools.ToolCallFunction;
import com.alibaba.dashscope.tools.ToolFunction;
import com.alibaba.dashscope.utils.Constants;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.reactivex.Flowable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import parley.CaseRunner;

/**
 * The Java SDK with the native interface; started by dashscope-java.test.ts. Each case runs in order and prints one
 * JSON line, {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a listening Parley, SCRIPTED_ADDRESS and SCRIPTED_KEY of one with the scripted
 * engine.
 */
public final class NativeCases {
  private static final String MODEL = "svc-plus";
  private static final List<String> COUNT = List.of("One", ", two", ", three");
  private static final String COUNT_TEXT = String.join("", COUNT);
  // A pause between steps, so that a stream has more than one event. Texts without a pause may arrive in one event.
  private static final Map<String, Integer> PAUSE = Map.of("delayMs", 100);
  private static final Gson JSON = new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

  private static final String WEATHER_QUESTION = "What is the weather in Paris right now?";
  private static final ToolBase WEATHER =
      ToolFunction.builder()
          .function(
              FunctionDefinition.builder()
                  .name("get_weather")
                  .description("Get the current weather in a city.")
                  .parameters(
                      JsonParser.parseString(
                              "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}, \"required\": [\"city\"]}")
                          .getAsJsonObject())
                  .build())
          .build();
  private static final Map<String, Object> FORCED_WEATHER =
      Map.of("type", "function", "function", Map.of("name", "get_weather"));

  public static void main(String[] args) {
    Map<String, CaseRunner.Case> cases = new LinkedHashMap<>();
    cases.put("gets an answer as a message", NativeCases::message);
    cases.put("gets an answer as text, which is the default", NativeCases::text);
    cases.put("gets an answer through a callback", NativeCases::called);
    cases.put("may send a prompt, and a history in its old form", NativeCases::prompt);
    cases.put("may send a message as a list of texts, and mark one for the cache", NativeCases::parts);
    cases.put("streams the whole answer so far by default", NativeCases::cumulative);
    cases.put("streams pieces with incremental_output true", NativeCases::incremental);
    cases.put("joins the pieces in the client with incremental_output false", NativeCases::merged);
    cases.put("streams to a callback", NativeCases::streamedToCallback);
    cases.put("gets usage and the same request id in every event", NativeCases::usage);
    cases.put("gets two choices, streamed or not", NativeCases::choices);
    cases.put("gets an answer that ends before a stop string, or at a token limit", NativeCases::stopped);
    cases.put("gets log probabilities", NativeCases::logprobs);
    cases.put("may name its own workspace and no other", NativeCases::workspace);
    cases.put("with a wrong key gets InvalidApiKey", NativeCases::wrongKey);
    cases.put("with an unknown model gets ModelNotFound", NativeCases::unknownModel);
    cases.put("with a temperature of 3 gets InvalidParameter, which names it", NativeCases::badParameter);
    cases.put("gets a failure before the first event with its status", NativeCases::failed);
    cases.put("gets a failure in mid-stream, with both ways of streaming", NativeCases::failedLater);
    cases.put("gets a list of texts on the multimodal path", NativeCases::multimodal);
    cases.put("calls a tool, and answers after its result", NativeCases::tools);
    cases.put("gets a tool call in pieces, or joined by the client", NativeCases::toolsStreamed);
    cases.put("gets the thought separate from the answer", NativeCases::thinking);
    cases.put("gets embeddings", NativeCases::embeddings);
    cases.put("gets documents ordered by relevance", NativeCases::rerank);
    cases.put("counts tokens", NativeCases::tokenizer);
    cases.put("gets status UNKNOWN for an unknown task, and cannot cancel it", NativeCases::tasks);

    // Set for the library, because not every class accepts an address.
    Constants.baseHttpApiUrl = address("SCRIPTED_");
    Constants.apiKey = System.getenv("SCRIPTED_KEY");
    CaseRunner.run(cases);
  }

  private static void message() throws Exception {
    GenerationResult answer = scripted().call(countParam().build());
    GenerationOutput.Choice choice = getOnlyChoice(answer);
    expect(choice.getMessage().getContent().equals(COUNT_TEXT), answer);
    expect(choice.getMessage().getRole().equals("assistant") && choice.getFinishReason().equals("stop"), answer);
    expect(answer.getStatusCode() == 200 && answer.getCode().isEmpty() && answer.getMessage().isEmpty(), answer);
    expect(!answer.getRequestId().isEmpty(), answer);
    expectUsage(answer.getUsage(), 3);
  }

  private static void text() throws Exception {
    GenerationResult answer = scripted().call(countParam().resultFormat("text").build());
    expect(COUNT_TEXT.equals(answer.getOutput().getText()) && answer.getOutput().getChoices() == null, answer);
    expect("stop".equals(answer.getOutput().getFinishReason()), answer);
    GenerationResult last =
        getLast(scripted().streamCall(pacedCountParam().resultFormat("text").incrementalOutput(false).build()));
    expect(COUNT_TEXT.equals(last.getOutput().getText()), last);
  }

  private static void called() throws Exception {
    CallbackRecorder recorder = new CallbackRecorder();
    scripted().call(countParam().build(), recorder);
    expect(getContent(recorder.await().get(0)).equals(COUNT_TEXT), recorder.events);
  }

  private static void prompt() throws Exception {
    GenerationParam alone = GenerationParam.builder().model(MODEL).prompt("Good morning").build();
    expect(scripted().call(alone).getOutput().getText().contains("Good morning"));
    GenerationParam after =
        GenerationParam.builder()
            .model(MODEL)
            .prompt("And now?")
            .history(List.of(History.builder().user("Hello").bot("Good day").build()))
            .build();
    expect(scripted().call(after).getOutput().getText().contains("And now?"));
  }

  private static void parts() throws Exception {
    MessageContentText marked =
        MessageContentText.builder()
            .type("text")
            .text("Good ")
            .cacheControl(MessageContentText.CacheControl.builder().type("ephemeral").ttl("5m").build())
            .build();
    MessageContentText rest = MessageContentText.builder().type("text").text("evening").build();
    Message message = Message.builder().role("user").contents(List.of(marked, rest)).build();
    GenerationResult answer = scripted().call(createParam(message).build());
    expect(getContent(answer).contains("Good evening"), answer);
  }

  private static void cumulative() throws Exception {
    List<String> received = getContents(scripted().streamCall(pacedCountParam().build()));
    expect(received.size() > 2 && received.get(received.size() - 1).equals(COUNT_TEXT), received);
    expect(received.stream().allMatch(COUNT_TEXT::startsWith), received);
  }

  private static void incremental() throws Exception {
    List<String> received = getContents(scripted().streamCall(pacedCountParam().incrementalOutput(true).build()));
    expect(received.size() > 2 && String.join("", received).equals(COUNT_TEXT), received);
  }

  private static void merged() throws Exception {
    List<String> received = getContents(scripted().streamCall(pacedCountParam().incrementalOutput(false).build()));
    String last = received.get(received.size() - 1);
    expect(received.size() > 2 && received.get(0).equals("One") && last.equals(COUNT_TEXT), received);
  }

  private static void streamedToCallback() throws Exception {
    for (boolean isIncremental : new boolean[] {true, false}) {
      CallbackRecorder recorder = new CallbackRecorder();
      scripted().streamCall(pacedCountParam().incrementalOutput(isIncremental).build(), recorder);
      List<String> received = recorder.await().stream().map(NativeCases::getContent).collect(Collectors.toList());
      String last = received.get(received.size() - 1);
      expect((isIncremental ? String.join("", received) : last).equals(COUNT_TEXT), received);
    }
  }

  private static void usage() throws Exception {
    List<GenerationResult> events = collect(scripted().streamCall(pacedCountParam().build()));
    for (GenerationResult event : events) expectUsage(event.getUsage(), event.getUsage().getOutputTokens());
    expect(events.get(events.size() - 1).getUsage().getOutputTokens() == 3, events);
    expect(new HashSet<>(mapList(events, GenerationResult::getRequestId)).size() == 1, events);
    List<String> reasons = mapList(events, event -> getOnlyChoice(event).getFinishReason());
    expect(reasons.get(0).equals("null") && reasons.get(reasons.size() - 1).equals("stop"), reasons);
  }

  private static void choices() throws Exception {
    GenerationResult answer = scripted().call(countParam().n(2).build());
    expect(mapList(answer.getOutput().getChoices(), GenerationOutput.Choice::getIndex).equals(List.of(0, 1)), answer);
    GenerationResult last = getLast(scripted().streamCall(pacedCountParam().n(2).incrementalOutput(false).build()));
    expect(last.getOutput().getChoices().size() == 2, last);
    for (GenerationOutput.Choice choice : last.getOutput().getChoices())
      expect(choice.getMessage().getContent().equals(COUNT_TEXT) && choice.getFinishReason().equals("stop"), last);
    // The SDK sums the usage in the last event of each choice.
    expect(last.getUsage().getOutputTokens() == 6, last);
  }

  private static void stopped() throws Exception {
    GenerationResult answer = scripted().call(countParam().stopString(" three").build());
    expect(getContent(answer).equals("One, two,") && getOnlyChoice(answer).getFinishReason().equals("stop"), answer);
    answer = scripted().call(countParam().maxTokens(2).build());
    expect(getContent(answer).equals("One, two") && getOnlyChoice(answer).getFinishReason().equals("length"), answer);
  }

  private static void logprobs() throws Exception {
    GenerationResult answer = scripted().call(countParam().logprobs(true).topLogprobs(2).build());
    List<GenerationLogprobs.Content> tokens = getOnlyChoice(answer).getLogprobs().getContent();
    String text = tokens.stream().map(GenerationLogprobs.Content::getToken).collect(Collectors.joining());
    expect(text.equals(COUNT_TEXT), answer);
    expect(tokens.stream().allMatch(token -> token.getLogprob() <= 0 && token.getTopLogprobs().size() <= 2), answer);
  }

  private static void workspace() throws Exception {
    expect(getContent(scripted().call(countParam().workspace("primary").build())).equals(COUNT_TEXT));
    GenerationParam foreign = countParam().workspace("another-workspace").build();
    expectRefusal(403, "Workspace.AccessDenied", "", () -> scripted().call(foreign));
  }

  private static void wrongKey() throws Exception {
    GenerationParam param = countParam().apiKey("sk-unknown-key").build();
    expectRefusal(401, "InvalidApiKey", "Invalid API-key provided.", () -> scripted().call(param));
    expectRefusal(401, "InvalidApiKey", "Invalid API-key provided.", () -> collect(scripted().streamCall(param)));
  }

  private static void unknownModel() throws Exception {
    GenerationParam param =
        GenerationParam.builder().model("no-such-model").prompt("Hello").resultFormat("message").build();
    expectRefusal(404, "ModelNotFound", "", () -> scripted().call(param));
    expectRefusal(404, "ModelNotFound", "", () -> collect(scripted().streamCall(param)));
    CallbackRecorder recorder = new CallbackRecorder();
    scripted().streamCall(param, recorder);
    expectRefusal(404, "ModelNotFound", "", recorder::await);
  }

  private static void badParameter() throws Exception {
    String message = "Temperature should be in [0.0, 2.0)";
    expectRefusal(400, "InvalidParameter", message, () -> scripted().call(countParam().temperature(3f).build()));
    expectRefusal(
        400, "InvalidParameter", message, () -> collect(scripted().streamCall(countParam().temperature(3f).build())));
  }

  private static void failed() throws Exception {
    GenerationParam param = createParam(user(script(Map.of("fail", "engine-failed")))).build();
    expectRefusal(500, "InternalError", "", () -> scripted().call(param));
    expectRefusal(500, "InternalError", "", () -> collect(scripted().streamCall(param)));
  }

  private static void failedLater() throws Exception {
    GenerationParam param = createParam(user(script("One", PAUSE, Map.of("fail", "engine-failed")))).build();
    List<String> received = new ArrayList<>();
    // In mid-stream the SDK reports status 400 for every error.
    expectRefusal(
        400,
        "InternalError",
        "",
        () -> scripted().streamCall(param).blockingForEach(event -> received.add(getContent(event))));
    expect(received.contains("One"), received);
    CallbackRecorder recorder = new CallbackRecorder();
    scripted().streamCall(param, recorder);
    expectRefusal(400, "InternalError", "", recorder::await);
    expect(getContent(recorder.events.get(0)).equals("One"), recorder.events);
  }

  private static void multimodal() throws Exception {
    MultiModalConversation client = new MultiModalConversation(Protocol.HTTP.getValue(), address("SCRIPTED_"));
    expect(getText(client.call(multimodalParam().build())).equals(COUNT_TEXT));
    List<MultiModalConversationResult> pieces =
        collect(client.streamCall(multimodalParam().incrementalOutput(true).build()));
    expect(pieces.stream().map(NativeCases::getText).collect(Collectors.joining()).equals(COUNT_TEXT), pieces);
    for (MultiModalConversationParam param :
        List.of(multimodalParam().build(), multimodalParam().incrementalOutput(false).build())) {
      MultiModalConversationResult last = getLast(client.streamCall(param));
      expect(getText(last).equals(COUNT_TEXT), last);
      expect(last.getUsage().getOutputTokens() == 3 && last.getUsage().getInputTokens() > 0, last);
    }
  }

  private static void tools() throws Exception {
    Message question = user(WEATHER_QUESTION);
    GenerationResult answer =
        real().call(greedyParam(question).tools(List.of(WEATHER)).toolChoice(FORCED_WEATHER).build());
    Message called = getOnlyChoice(answer).getMessage();
    ToolCallFunction call = (ToolCallFunction) called.getToolCalls().get(0);
    expect(called.getToolCalls().size() == 1 && getOnlyChoice(answer).getFinishReason().equals("tool_calls"), answer);
    expect(call.getFunction().getName().equals("get_weather") && !call.getId().isEmpty(), answer);
    expect(parseArguments(call).get("city").isJsonPrimitive(), answer);
    Message result =
        Message.builder()
            .role("tool")
            .content("{\"temperature\": 21, \"sky\": \"sunny\"}")
            .toolCallId(call.getId())
            .name("get_weather")
            .build();
    GenerationResult after =
        real().call(greedyParam(question, called, result).tools(List.of(WEATHER)).maxTokens(32).build());
    Message received = getOnlyChoice(after).getMessage();
    expect(!received.getContent().isEmpty() || !received.getToolCalls().isEmpty(), after);
  }

  private static void toolsStreamed() throws Exception {
    for (boolean isIncremental : new boolean[] {true, false}) {
      GenerationParam param =
          greedyParam(user(WEATHER_QUESTION))
              .tools(List.of(WEATHER))
              .toolChoice(FORCED_WEATHER)
              .incrementalOutput(isIncremental)
              .build();
      List<GenerationResult> events = collect(real().streamCall(param));
      GenerationResult last = events.get(events.size() - 1);
      expect(getOnlyChoice(last).getFinishReason().equals("tool_calls"), events);
      List<ToolCallFunction> pieces =
          (isIncremental ? events : List.of(last))
              .stream().flatMap(event -> getCalls(event).stream()).collect(Collectors.toList());
      expect(isIncremental ? pieces.size() > 1 : pieces.size() == 1, events);
      expect(pieces.get(0).getFunction().getName().equals("get_weather"), events);
      expect(!pieces.get(0).getId().isEmpty(), events);
      String arguments =
          pieces.stream()
              .map(piece -> Objects.requireNonNullElse(piece.getFunction().getArguments(), ""))
              .collect(Collectors.joining());
      expect(JsonParser.parseString(arguments).getAsJsonObject().has("city"), arguments);
    }
  }

  private static void thinking() throws Exception {
    Message question = user("Is 7 a prime number?");
    GenerationResult whole =
        real().call(greedyParam(question).enableThinking(true).thinkingBudget(12).maxTokens(16).build());
    String thought = getOnlyChoice(whole).getMessage().getReasoningContent();
    expect(thought != null && !thought.isEmpty(), whole);
    expect(whole.getUsage().getOutputTokensDetails().getReasoningTokens() > 0, whole);
    for (Boolean incremental : Arrays.asList(true, false, null)) {
      GenerationParam param =
          greedyParam(question)
              .enableThinking(true)
              .thinkingBudget(12)
              .maxTokens(16)
              .incrementalOutput(incremental)
              .build();
      List<Message> messages = mapList(collect(real().streamCall(param)), event -> getOnlyChoice(event).getMessage());
      Message last = messages.get(messages.size() - 1);
      // The SDK joins the pieces only with incrementalOutput false. By default, a thinking stream comes in pieces.
      boolean isWhole = Boolean.FALSE.equals(incremental);
      String thoughts =
          messages.stream()
              .map(message -> Objects.requireNonNullElse(message.getReasoningContent(), ""))
              .collect(Collectors.joining());
      expect((isWhole ? last.getReasoningContent() : thoughts).equals(thought), incremental, messages, thought);
    }
  }

  private static void embeddings() throws Exception {
    TextEmbedding client = new TextEmbedding(address(""));
    TextEmbeddingParam param =
        TextEmbeddingParam.builder()
            .apiKey(System.getenv("KEY"))
            .model("svc-embed")
            .texts(List.of("The sea is blue.", "Bread"))
            .textType(TextEmbeddingParam.TextType.DOCUMENT)
            .build();
    TextEmbeddingResult result = client.call(param);
    List<List<Double>> vectors = mapList(result.getOutput().getEmbeddings(), item -> item.getEmbedding());
    expect(vectors.size() == 2 && vectors.get(0).size() == vectors.get(1).size(), result);
    expect(mapList(result.getOutput().getEmbeddings(), item -> item.getTextIndex()).equals(List.of(0, 1)), result);
    expect(result.getUsage().getTotalTokens() > 0 && !result.getRequestId().isEmpty(), result);
  }

  private static void rerank() throws Exception {
    TextReRank client = new TextReRank(Protocol.HTTP.getValue(), address(""));
    List<String> documents = List.of("cats chase mice", "the sea is blue", "what is bread");
    TextReRankResult ranked = client.call(rankingParam("qwen3-rerank", documents).build());
    List<TextReRankOutput.Result> results = ranked.getOutput().getResults();
    expect(mapList(results, TextReRankOutput.Result::getIndex).equals(List.of(1, 2, 0)), ranked);
    expect(results.get(0).getRelevanceScore() > results.get(1).getRelevanceScore(), ranked);
    expect(results.get(0).getDocument() == null && ranked.getUsage().getTotalTokens() > 0, ranked);
    expect(!ranked.getRequestId().isEmpty(), ranked);
    TextReRankResult best =
        client.call(rankingParam("gte-rerank-v2", documents).topN(1).returnDocuments(true).instruct("Find facts.").build());
    expect(best.getOutput().getResults().size() == 1, best);
    expect(best.getOutput().getResults().get(0).getDocument().getText().equals("the sea is blue"), best);
    expectRefusal(
        400,
        "InvalidParameter",
        "input.documents[1]",
        () -> client.call(rankingParam("svc-rerank", List.of("blue", "bread ".repeat(300))).build()));
  }

  private static TextReRankParam.TextReRankParamBuilder<?, ?> rankingParam(String model, List<String> documents) {
    return TextReRankParam.builder()
        .apiKey(System.getenv("KEY"))
        .model(model)
        .query("what colour is the sea")
        .documents(documents);
  }

  private static void tokenizer() throws Exception {
    Constants.baseHttpApiUrl = address("");
    try {
      GenerationParam param =
          GenerationParam.builder().model(MODEL).apiKey(System.getenv("KEY")).prompt("The sea is blue.").build();
      TokenizationResult result = new Tokenization().call(param);
      int count = result.getUsage().getInputTokens();
      expect(count > 0 && result.getOutput().getTokenIds().size() == count, result);
      expect(result.getOutput().getTokens().size() == count, result);
    } finally {
      Constants.baseHttpApiUrl = address("SCRIPTED_");
    }
  }

  private static void tasks() throws Exception {
    BatchTextEmbedding client = new BatchTextEmbedding(address("SCRIPTED_"));
    String key = System.getenv("SCRIPTED_KEY");
    expect(client.fetch("no-such-task", key).getOutput().getTaskStatus().equals("UNKNOWN"));
    // A client that waits for the task stops at this status.
    expect(client.wait("no-such-task", key).getOutput().getTaskStatus().equals("UNKNOWN"));
    expectRefusal(400, "UnsupportedOperation", "", () -> client.cancel("no-such-task", key));
  }

  // Requests

  private static String address(String prefix) {
    return System.getenv(prefix + "ADDRESS") + "/api/v1";
  }

  private static Generation scripted() {
    return new Generation(Protocol.HTTP.getValue(), address("SCRIPTED_"));
  }

  private static Generation real() {
    return new Generation(Protocol.HTTP.getValue(), address(""));
  }

  private static String script(Object... steps) {
    return "script:" + JSON.toJson(steps);
  }

  private static Message user(String content) {
    return Message.builder().role("user").content(content).build();
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> createParam(Message... messages) {
    return GenerationParam.builder().model(MODEL).messages(List.of(messages)).resultFormat("message");
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> countParam() {
    return createParam(user(script(COUNT.toArray())));
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> pacedCountParam() {
    return createParam(user(createPacedScript()));
  }

  private static String createPacedScript() {
    return script(COUNT.stream().flatMap(token -> Arrays.stream(new Object[] {token, PAUSE})).toArray());
  }

  /** Greedy sampling, so that two calls can be compared; short, because the machine is slow. */
  private static GenerationParam.GenerationParamBuilder<?, ?> greedyParam(Message... messages) {
    return createParam(messages).apiKey(System.getenv("KEY")).temperature(0f).maxTokens(80);
  }

  private static MultiModalConversationParam.MultiModalConversationParamBuilder<?, ?> multimodalParam() {
    Map<String, Object> part = Collections.singletonMap("text", createPacedScript());
    return MultiModalConversationParam.builder()
        .model(MODEL)
        .message(MultiModalMessage.builder().role("user").content(List.of(part)).build());
  }

  // Responses

  private static GenerationOutput.Choice getOnlyChoice(GenerationResult result) {
    expect(result.getOutput().getChoices() != null && result.getOutput().getChoices().size() == 1, result);
    return result.getOutput().getChoices().get(0);
  }

  private static String getContent(GenerationResult result) {
    return getOnlyChoice(result).getMessage().getContent();
  }

  private static List<String> getContents(Flowable<GenerationResult> stream) {
    return mapList(collect(stream), NativeCases::getContent);
  }

  private static List<ToolCallFunction> getCalls(GenerationResult result) {
    List<ToolCallBase> calls = getOnlyChoice(result).getMessage().getToolCalls();
    return calls == null ? List.of() : mapList(calls, call -> (ToolCallFunction) call);
  }

  private static JsonObject parseArguments(ToolCallFunction call) {
    return JsonParser.parseString(call.getFunction().getArguments()).getAsJsonObject();
  }

  private static String getText(MultiModalConversationResult result) {
    return result.getOutput().getChoices().get(0).getMessage().getContent().stream()
        .map(part -> part.get("text").toString())
        .collect(Collectors.joining());
  }

  private static <T> List<T> collect(Flowable<T> stream) {
    return stream.toList().blockingGet();
  }

  private static <T> T getLast(Flowable<T> stream) {
    return stream.blockingLast();
  }

  private static <T, R> List<R> mapList(List<T> list, java.util.function.Function<T, R> map) {
    return list.stream().map(map).collect(Collectors.toList());
  }

  private static void expectUsage(GenerationUsage usage, int outputTokens) {
    expect(usage.getInputTokens() > 0 && usage.getOutputTokens() == outputTokens, usage);
    expect(usage.getTotalTokens() == usage.getInputTokens() + usage.getOutputTokens(), usage);
  }

  private static void expectRefusal(int status, String code, String message, CaseRunner.Case call) throws Exception {
    try {
      call.run();
    } catch (ApiException refusal) {
      expect(refusal.getStatus().getStatusCode() == status, refusal);
      expect(refusal.getStatus().getCode().equals(code), refusal);
      expect(refusal.getStatus().getMessage().contains(message), refusal);
      expect(!refusal.getStatus().getRequestId().isEmpty(), refusal);
      return;
    }
    throw new AssertionError("ApiException was not thrown");
  }

  /** Records the calls of a callback. After an error the SDK also calls onComplete. */
  private static final class CallbackRecorder extends ResultCallback<GenerationResult> {
    private final List<GenerationResult> events = Collections.synchronizedList(new ArrayList<>());
    private final CompletableFuture<List<GenerationResult>> end = new CompletableFuture<>();

    @Override
    public void onEvent(GenerationResult event) {
      events.add(event);
    }

    @Override
    public void onComplete() {
      end.complete(events);
    }

    @Override
    public void onError(Exception error) {
      end.completeExceptionally(error);
    }

    private List<GenerationResult> await() throws Exception {
      try {
        return end.get(60, TimeUnit.SECONDS);
      } catch (java.util.concurrent.ExecutionException error) {
        throw (Exception) error.getCause();
      }
    }
  }
}

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
import java.io.PrintWriter;
import java.io.StringWriter;
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

/**
 * The Java SDK of the native dialect, started by dashscope-java.test.ts: each case runs in turn and prints one JSON
 * line, {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a listening Parley, SCRIPTED_ADDRESS and SCRIPTED_KEY of one that plays scripts.
 */
public final class NativeCases {
  private static final String MODEL = "svc-plus";
  private static final List<String> COUNT = List.of("One", ", two", ", three");
  private static final String COUNTED = String.join("", COUNT);
  // So that a stream has more than one event: what is said at once may come in one.
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
  private static final Map<String, Object> FORCED =
      Map.of("type", "function", "function", Map.of("name", "get_weather"));

  private interface Case {
    void run() throws Exception;
  }

  public static void main(String[] args) {
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("gets an answer as a message", NativeCases::message);
    cases.put("gets an answer as text, which is the default", NativeCases::text);
    cases.put("gets an answer by a callback", NativeCases::called);
    cases.put("can ask by a prompt, and with a history in its old form", NativeCases::prompt);
    cases.put("can write a message as a list of texts, and mark one for the cache", NativeCases::parts);
    cases.put("streams the whole answer so far when it does not say how", NativeCases::cumulative);
    cases.put("streams pieces when it asks for them", NativeCases::incremental);
    cases.put("puts the pieces together itself when it asks for no pieces", NativeCases::merged);
    cases.put("streams to a callback", NativeCases::streamedToCallback);
    cases.put("hears of usage and one request id in every event", NativeCases::usage);
    cases.put("gets two choices, streamed or not", NativeCases::choices);
    cases.put("gets an answer that ends before a stop string, or at a token limit", NativeCases::stopped);
    cases.put("gets log probabilities", NativeCases::logprobs);
    cases.put("may name its own workspace and no other", NativeCases::workspace);
    cases.put("with a wrong key gets InvalidApiKey", NativeCases::wrongKey);
    cases.put("with an unknown model gets ModelNotFound", NativeCases::unknownModel);
    cases.put("with a temperature of 3 gets InvalidParameter, which names it", NativeCases::badParameter);
    cases.put("sees a failure before the answer with its status", NativeCases::failed);
    cases.put("sees a failure in mid-stream, by both ways of streaming", NativeCases::failedLater);
    cases.put("gets a list of texts on the multimodal path", NativeCases::multimodal);
    cases.put("calls a tool, and goes on after its result", NativeCases::tools);
    cases.put("hears of a call piece by piece, and puts it together itself", NativeCases::toolsStreamed);
    cases.put("gets the thought apart from the answer", NativeCases::thinking);
    cases.put("gets embeddings", NativeCases::embeddings);
    cases.put("gets documents in the order in which they answer", NativeCases::rerank);
    cases.put("counts tokens", NativeCases::tokenizer);
    cases.put("hears that a task is unknown, and that it cannot be cancelled", NativeCases::tasks);

    // Set for the library, because not every class of it takes an address of its own.
    Constants.baseHttpApiUrl = address("SCRIPTED_");
    Constants.apiKey = System.getenv("SCRIPTED_KEY");
    cases.forEach(NativeCases::report);
    // Its threads would keep the process alive for a minute.
    System.exit(0);
  }

  private static void report(String name, Case each) {
    String error = null;
    try {
      each.run();
    } catch (Throwable thrown) {
      StringWriter text = new StringWriter();
      thrown.printStackTrace(new PrintWriter(text));
      error = text.toString();
    }
    Map<String, String> line = new LinkedHashMap<>();
    line.put("case", name);
    line.put("error", error);
    System.out.println(JSON.toJson(line));
  }

  private static void message() throws Exception {
    GenerationResult answer = scripted().call(counting().build());
    GenerationOutput.Choice choice = only(answer);
    expect(choice.getMessage().getContent().equals(COUNTED), answer);
    expect(choice.getMessage().getRole().equals("assistant") && choice.getFinishReason().equals("stop"), answer);
    expect(answer.getStatusCode() == 200 && answer.getCode().isEmpty() && answer.getMessage().isEmpty(), answer);
    expect(!answer.getRequestId().isEmpty(), answer);
    expectUsage(answer.getUsage(), 3);
  }

  private static void text() throws Exception {
    GenerationResult answer = scripted().call(counting().resultFormat("text").build());
    expect(COUNTED.equals(answer.getOutput().getText()) && answer.getOutput().getChoices() == null, answer);
    expect("stop".equals(answer.getOutput().getFinishReason()), answer);
    GenerationResult last =
        last(scripted().streamCall(slowly().resultFormat("text").incrementalOutput(false).build()));
    expect(COUNTED.equals(last.getOutput().getText()), last);
  }

  private static void called() throws Exception {
    Heard heard = new Heard();
    scripted().call(counting().build(), heard);
    expect(contentOf(heard.await().get(0)).equals(COUNTED), heard.events);
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
    GenerationResult answer = scripted().call(asking(message).build());
    expect(contentOf(answer).contains("Good evening"), answer);
  }

  private static void cumulative() throws Exception {
    List<String> said = contentsOf(scripted().streamCall(slowly().build()));
    expect(said.size() > 2 && said.get(said.size() - 1).equals(COUNTED), said);
    expect(said.stream().allMatch(COUNTED::startsWith), said);
  }

  private static void incremental() throws Exception {
    List<String> said = contentsOf(scripted().streamCall(slowly().incrementalOutput(true).build()));
    expect(said.size() > 2 && String.join("", said).equals(COUNTED), said);
  }

  private static void merged() throws Exception {
    List<String> said = contentsOf(scripted().streamCall(slowly().incrementalOutput(false).build()));
    expect(said.size() > 2 && said.get(0).equals("One") && said.get(said.size() - 1).equals(COUNTED), said);
  }

  private static void streamedToCallback() throws Exception {
    for (boolean isIncremental : new boolean[] {true, false}) {
      Heard heard = new Heard();
      scripted().streamCall(slowly().incrementalOutput(isIncremental).build(), heard);
      List<String> said = heard.await().stream().map(NativeCases::contentOf).collect(Collectors.toList());
      expect((isIncremental ? String.join("", said) : said.get(said.size() - 1)).equals(COUNTED), said);
    }
  }

  private static void usage() throws Exception {
    List<GenerationResult> events = all(scripted().streamCall(slowly().build()));
    for (GenerationResult event : events) expectUsage(event.getUsage(), event.getUsage().getOutputTokens());
    expect(events.get(events.size() - 1).getUsage().getOutputTokens() == 3, events);
    expect(new HashSet<>(mapped(events, GenerationResult::getRequestId)).size() == 1, events);
    List<String> reasons = mapped(events, event -> only(event).getFinishReason());
    expect(reasons.get(0).equals("null") && reasons.get(reasons.size() - 1).equals("stop"), reasons);
  }

  private static void choices() throws Exception {
    GenerationResult answer = scripted().call(counting().n(2).build());
    expect(mapped(answer.getOutput().getChoices(), GenerationOutput.Choice::getIndex).equals(List.of(0, 1)), answer);
    GenerationResult last = last(scripted().streamCall(slowly().n(2).incrementalOutput(false).build()));
    expect(last.getOutput().getChoices().size() == 2, last);
    for (GenerationOutput.Choice choice : last.getOutput().getChoices())
      expect(choice.getMessage().getContent().equals(COUNTED) && choice.getFinishReason().equals("stop"), last);
    // It sums what the last event of each choice says.
    expect(last.getUsage().getOutputTokens() == 6, last);
  }

  private static void stopped() throws Exception {
    GenerationResult answer = scripted().call(counting().stopString(" three").build());
    expect(contentOf(answer).equals("One, two,") && only(answer).getFinishReason().equals("stop"), answer);
    answer = scripted().call(counting().maxTokens(2).build());
    expect(contentOf(answer).equals("One, two") && only(answer).getFinishReason().equals("length"), answer);
  }

  private static void logprobs() throws Exception {
    GenerationResult answer = scripted().call(counting().logprobs(true).topLogprobs(2).build());
    List<GenerationLogprobs.Content> tokens = only(answer).getLogprobs().getContent();
    expect(tokens.stream().map(GenerationLogprobs.Content::getToken).collect(Collectors.joining()).equals(COUNTED), answer);
    expect(tokens.stream().allMatch(token -> token.getLogprob() <= 0 && token.getTopLogprobs().size() <= 2), answer);
  }

  private static void workspace() throws Exception {
    expect(contentOf(scripted().call(counting().workspace("primary").build())).equals(COUNTED));
    GenerationParam foreign = counting().workspace("of-somebody-else").build();
    expectRefusal(403, "Workspace.AccessDenied", "", () -> scripted().call(foreign));
  }

  private static void wrongKey() throws Exception {
    GenerationParam param = counting().apiKey("sk-of-somebody-else").build();
    expectRefusal(401, "InvalidApiKey", "Invalid API-key provided.", () -> scripted().call(param));
    expectRefusal(401, "InvalidApiKey", "Invalid API-key provided.", () -> all(scripted().streamCall(param)));
  }

  private static void unknownModel() throws Exception {
    GenerationParam param =
        GenerationParam.builder().model("no-such-model").prompt("Hello").resultFormat("message").build();
    expectRefusal(404, "ModelNotFound", "", () -> scripted().call(param));
    expectRefusal(404, "ModelNotFound", "", () -> all(scripted().streamCall(param)));
    Heard heard = new Heard();
    scripted().streamCall(param, heard);
    expectRefusal(404, "ModelNotFound", "", heard::await);
  }

  private static void badParameter() throws Exception {
    String message = "Temperature should be in [0.0, 2.0)";
    expectRefusal(400, "InvalidParameter", message, () -> scripted().call(counting().temperature(3f).build()));
    expectRefusal(
        400, "InvalidParameter", message, () -> all(scripted().streamCall(counting().temperature(3f).build())));
  }

  private static void failed() throws Exception {
    GenerationParam param = asking(user(script(Map.of("fail", "engine-failed")))).build();
    expectRefusal(500, "InternalError", "", () -> scripted().call(param));
    expectRefusal(500, "InternalError", "", () -> all(scripted().streamCall(param)));
  }

  private static void failedLater() throws Exception {
    GenerationParam param = asking(user(script("One", PAUSE, Map.of("fail", "engine-failed")))).build();
    List<String> said = new ArrayList<>();
    // In mid-stream the SDK says 400, whatever it was.
    expectRefusal(
        400,
        "InternalError",
        "",
        () -> scripted().streamCall(param).blockingForEach(event -> said.add(contentOf(event))));
    expect(said.contains("One"), said);
    Heard heard = new Heard();
    scripted().streamCall(param, heard);
    expectRefusal(400, "InternalError", "", heard::await);
    expect(contentOf(heard.events.get(0)).equals("One"), heard.events);
  }

  private static void multimodal() throws Exception {
    MultiModalConversation client = new MultiModalConversation(Protocol.HTTP.getValue(), address("SCRIPTED_"));
    expect(textOf(client.call(talking().build())).equals(COUNTED));
    List<MultiModalConversationResult> pieces = all(client.streamCall(talking().incrementalOutput(true).build()));
    expect(pieces.stream().map(NativeCases::textOf).collect(Collectors.joining()).equals(COUNTED), pieces);
    for (MultiModalConversationParam param :
        List.of(talking().build(), talking().incrementalOutput(false).build())) {
      MultiModalConversationResult last = last(client.streamCall(param));
      expect(textOf(last).equals(COUNTED), last);
      expect(last.getUsage().getOutputTokens() == 3 && last.getUsage().getInputTokens() > 0, last);
    }
  }

  private static void tools() throws Exception {
    Message question = user(WEATHER_QUESTION);
    GenerationResult answer = real().call(greedy(question).tools(List.of(WEATHER)).toolChoice(FORCED).build());
    Message called = only(answer).getMessage();
    ToolCallFunction call = (ToolCallFunction) called.getToolCalls().get(0);
    expect(called.getToolCalls().size() == 1 && only(answer).getFinishReason().equals("tool_calls"), answer);
    expect(call.getFunction().getName().equals("get_weather") && !call.getId().isEmpty(), answer);
    expect(argumentsOf(call).get("city").isJsonPrimitive(), answer);
    Message result =
        Message.builder()
            .role("tool")
            .content("{\"temperature\": 21, \"sky\": \"sunny\"}")
            .toolCallId(call.getId())
            .name("get_weather")
            .build();
    GenerationResult after =
        real().call(greedy(question, called, result).tools(List.of(WEATHER)).maxTokens(32).build());
    Message said = only(after).getMessage();
    expect(!said.getContent().isEmpty() || !said.getToolCalls().isEmpty(), after);
  }

  private static void toolsStreamed() throws Exception {
    for (boolean isIncremental : new boolean[] {true, false}) {
      GenerationParam param =
          greedy(user(WEATHER_QUESTION))
              .tools(List.of(WEATHER))
              .toolChoice(FORCED)
              .incrementalOutput(isIncremental)
              .build();
      List<GenerationResult> events = all(real().streamCall(param));
      GenerationResult last = events.get(events.size() - 1);
      expect(only(last).getFinishReason().equals("tool_calls"), events);
      List<ToolCallFunction> pieces =
          (isIncremental ? events : List.of(last))
              .stream().flatMap(event -> callsOf(event).stream()).collect(Collectors.toList());
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
        real().call(greedy(question).enableThinking(true).thinkingBudget(12).maxTokens(16).build());
    String thought = only(whole).getMessage().getReasoningContent();
    expect(thought != null && !thought.isEmpty(), whole);
    expect(whole.getUsage().getOutputTokensDetails().getReasoningTokens() > 0, whole);
    for (Boolean how : Arrays.asList(true, false, null)) {
      GenerationParam param =
          greedy(question).enableThinking(true).thinkingBudget(12).maxTokens(16).incrementalOutput(how).build();
      List<Message> messages = mapped(all(real().streamCall(param)), event -> only(event).getMessage());
      Message last = messages.get(messages.size() - 1);
      // Only a stream that asks for no pieces is put together; unset, a thinking one comes in pieces.
      boolean isWhole = Boolean.FALSE.equals(how);
      String thoughts =
          messages.stream()
              .map(message -> Objects.requireNonNullElse(message.getReasoningContent(), ""))
              .collect(Collectors.joining());
      expect((isWhole ? last.getReasoningContent() : thoughts).equals(thought), how, messages, thought);
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
    List<List<Double>> vectors = mapped(result.getOutput().getEmbeddings(), item -> item.getEmbedding());
    expect(vectors.size() == 2 && vectors.get(0).size() == vectors.get(1).size(), result);
    expect(mapped(result.getOutput().getEmbeddings(), item -> item.getTextIndex()).equals(List.of(0, 1)), result);
    expect(result.getUsage().getTotalTokens() > 0 && !result.getRequestId().isEmpty(), result);
  }

  private static void rerank() throws Exception {
    TextReRank client = new TextReRank(Protocol.HTTP.getValue(), address(""));
    List<String> documents = List.of("cats chase mice", "the sea is blue", "what is bread");
    TextReRankResult ranked = client.call(ranking("qwen3-rerank", documents).build());
    List<TextReRankOutput.Result> results = ranked.getOutput().getResults();
    expect(mapped(results, TextReRankOutput.Result::getIndex).equals(List.of(1, 2, 0)), ranked);
    expect(results.get(0).getRelevanceScore() > results.get(1).getRelevanceScore(), ranked);
    expect(results.get(0).getDocument() == null && ranked.getUsage().getTotalTokens() > 0, ranked);
    expect(!ranked.getRequestId().isEmpty(), ranked);
    TextReRankResult best =
        client.call(ranking("gte-rerank-v2", documents).topN(1).returnDocuments(true).instruct("Find facts.").build());
    expect(best.getOutput().getResults().size() == 1, best);
    expect(best.getOutput().getResults().get(0).getDocument().getText().equals("the sea is blue"), best);
    expectRefusal(
        400,
        "InvalidParameter",
        "input.documents[1]",
        () -> client.call(ranking("svc-rerank", List.of("blue", "bread ".repeat(300))).build()));
  }

  private static TextReRankParam.TextReRankParamBuilder<?, ?> ranking(String model, List<String> documents) {
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
    // A client that waits for it has to stop.
    expect(client.wait("no-such-task", key).getOutput().getTaskStatus().equals("UNKNOWN"));
    expectRefusal(400, "UnsupportedOperation", "", () -> client.cancel("no-such-task", key));
  }

  // What the cases ask.

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

  private static GenerationParam.GenerationParamBuilder<?, ?> asking(Message... messages) {
    return GenerationParam.builder().model(MODEL).messages(List.of(messages)).resultFormat("message");
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> counting() {
    return asking(user(script(COUNT.toArray())));
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> slowly() {
    return asking(user(countSlowly()));
  }

  private static String countSlowly() {
    return script(COUNT.stream().flatMap(token -> Arrays.stream(new Object[] {token, PAUSE})).toArray());
  }

  /** Greedy, so that two calls can be compared; short, because the machine is slow. */
  private static GenerationParam.GenerationParamBuilder<?, ?> greedy(Message... messages) {
    return asking(messages).apiKey(System.getenv("KEY")).temperature(0f).maxTokens(80);
  }

  private static MultiModalConversationParam.MultiModalConversationParamBuilder<?, ?> talking() {
    Map<String, Object> part = Collections.singletonMap("text", countSlowly());
    return MultiModalConversationParam.builder()
        .model(MODEL)
        .message(MultiModalMessage.builder().role("user").content(List.of(part)).build());
  }

  // What they read.

  private static GenerationOutput.Choice only(GenerationResult result) {
    expect(result.getOutput().getChoices() != null && result.getOutput().getChoices().size() == 1, result);
    return result.getOutput().getChoices().get(0);
  }

  private static String contentOf(GenerationResult result) {
    return only(result).getMessage().getContent();
  }

  private static List<String> contentsOf(Flowable<GenerationResult> stream) {
    return mapped(all(stream), NativeCases::contentOf);
  }

  private static List<ToolCallFunction> callsOf(GenerationResult result) {
    List<ToolCallBase> calls = only(result).getMessage().getToolCalls();
    return calls == null ? List.of() : mapped(calls, call -> (ToolCallFunction) call);
  }

  private static JsonObject argumentsOf(ToolCallFunction call) {
    return JsonParser.parseString(call.getFunction().getArguments()).getAsJsonObject();
  }

  private static String textOf(MultiModalConversationResult result) {
    return result.getOutput().getChoices().get(0).getMessage().getContent().stream()
        .map(part -> part.get("text").toString())
        .collect(Collectors.joining());
  }

  private static <T> List<T> all(Flowable<T> stream) {
    return stream.toList().blockingGet();
  }

  private static <T> T last(Flowable<T> stream) {
    return stream.blockingLast();
  }

  private static <T, R> List<R> mapped(List<T> list, java.util.function.Function<T, R> map) {
    return list.stream().map(map).collect(Collectors.toList());
  }

  private static void expectUsage(GenerationUsage usage, int outputTokens) {
    expect(usage.getInputTokens() > 0 && usage.getOutputTokens() == outputTokens, usage);
    expect(usage.getTotalTokens() == usage.getInputTokens() + usage.getOutputTokens(), usage);
  }

  private static void expectRefusal(int status, String code, String message, Case call) throws Exception {
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

  private static void expect(boolean isTrue, Object... facts) {
    if (!isTrue) throw new AssertionError(Arrays.deepToString(facts));
  }

  /** Collects what a callback hears. After an error the SDK calls it complete, too. */
  private static final class Heard extends ResultCallback<GenerationResult> {
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

import com.alibaba.dashscope.aigc.generation.Generation;
import com.alibaba.dashscope.aigc.generation.GenerationOutput;
import com.alibaba.dashscope.aigc.generation.GenerationParam;
import com.alibaba.dashscope.aigc.generation.GenerationResult;
import com.alibaba.dashscope.aigc.generation.SearchInfo;
import com.alibaba.dashscope.aigc.generation.SearchOptions;
import com.alibaba.dashscope.api.SynchronizeHalfDuplexApi;
import com.alibaba.dashscope.common.DashScopeResult;
import com.alibaba.dashscope.common.Message;
import com.alibaba.dashscope.exception.ApiException;
import com.alibaba.dashscope.protocol.ApiServiceOption;
import com.alibaba.dashscope.protocol.HttpMethod;
import com.alibaba.dashscope.protocol.Protocol;
import com.alibaba.dashscope.protocol.StreamingMode;
import com.alibaba.dashscope.tools.codeinterpretertool.ToolCodeInterpreter;
import com.alibaba.dashscope.utils.Constants;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Searches and programs with the Java SDK, started by server-tools-java.test.ts: each case runs in turn and prints one JSON
 * line, {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a Parley that really searches and computes, and whose model always answers alike:
 * working-parley.ts.
 */
public final class ServerToolsCases {
  private static final String SAID = "Ada Lovelace wrote the first program in 1843. Enough said.";
  private static final String PROGRAM =
      "[{\"code_interpreter\": {\"code\": \"print(1 + 1)\"}, \"type\": \"code_interpreter\"}]";
  private static final Gson JSON = new GsonBuilder().disableHtmlEscaping().serializeNulls().create();

  private interface Case {
    void run() throws Exception;
  }

  public static void main(String[] args) {
    Map<String, Case> cases = new LinkedHashMap<>();
    cases.put("gets what was found beside the answer", ServerToolsCases::cited);
    cases.put("gets it as text, too", ServerToolsCases::text);
    cases.put("streams pieces, with what was found in the first and the last", ServerToolsCases::pieces);
    cases.put("streams the whole answer so far, with what was found at the end", ServerToolsCases::soFar);
    cases.put("gets what was found before the answer, and then no more", ServerToolsCases::before);
    cases.put("is told nothing of sources that it did not ask for", ServerToolsCases::unasked);
    cases.put("gets programs while thinking, streamed", ServerToolsCases::programs);
    cases.put("hears of both, and of their counts", ServerToolsCases::both);
    cases.put("is told how programs are to be asked for", ServerToolsCases::unstreamed);
    cases.put("with a wish that cannot be gets InvalidParameter, in the words that are known", ServerToolsCases::refused);
    Constants.baseHttpApiUrl = System.getenv("ADDRESS") + "/api/v1";
    Constants.apiKey = System.getenv("KEY");
    cases.forEach(ServerToolsCases::report);
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

  private static void cited() throws Exception {
    GenerationResult answer = new Generation().call(searching(sources().enableCitation(true)).build());
    expect(contentOf(answer).equals(SAID.replace("1843.", "1843[1].")), answer);
    expectFound(answer);
    answer = new Generation().call(searching(sources().enableCitation(true).citationFormat("[ref_<number>]")).build());
    expect(contentOf(answer).equals(SAID.replace("1843.", "1843[ref_1].")), answer);
  }

  private static void text() throws Exception {
    GenerationResult answer = new Generation().call(searching(sources()).resultFormat("text").build());
    expect(SAID.equals(answer.getOutput().getText()), answer);
    expectFound(answer);
  }

  private static void pieces() throws Exception {
    List<GenerationResult> events = streamed(searching(sources()).incrementalOutput(true));
    expect(joined(events).equals(SAID), events);
    expectFound(events.get(0));
    expectFound(events.get(events.size() - 1));
    expect(events.size() > 2, events);
    for (GenerationResult event : events.subList(1, events.size() - 1)) expectNoneTold(event);
  }

  private static void soFar() throws Exception {
    List<GenerationResult> events = streamed(searching(sources()).incrementalOutput(false));
    GenerationResult last = events.get(events.size() - 1);
    expect(contentOf(last).equals(SAID), events);
    expectFound(last);
  }

  private static void before() throws Exception {
    List<GenerationResult> events = streamed(searching(sources().prependSearchResult(true)).incrementalOutput(true));
    expect(contentOf(events.get(0)).isEmpty(), events.get(0));
    expectFound(events.get(0));
    List<GenerationResult> later = events.subList(1, events.size());
    expect(joined(later).equals(SAID), events);
    for (GenerationResult event : later) expect(event.getOutput().getSearchInfo().getSearchResults().isEmpty(), event);
  }

  private static void unasked() throws Exception {
    GenerationResult answer = new Generation().call(asking().enableSearch(true).build());
    expect(contentOf(answer).equals(SAID), answer);
    expectNoneTold(answer);
  }

  private static void programs() throws Exception {
    GenerationParam.GenerationParamBuilder<?, ?> asked = asking().incrementalOutput(true);
    List<GenerationResult> events = streamed(computing(asked));
    expect(joined(events).equals(SAID), events);
    String thought =
        events.stream()
            .map(event -> messageOf(event).getReasoningContent())
            .filter(Objects::nonNull)
            .collect(Collectors.joining());
    expect(thought.contains("I work."), events);
    List<DashScopeResult> raw = raw(computing(asked));
    expect(toolsOf(raw).equals(List.of(JsonParser.parseString(PROGRAM))), raw);
    expect(pluginsOf(raw).equals(JsonParser.parseString("{\"code_interpreter\": {\"count\": 1}}")), raw);
  }

  private static void both() throws Exception {
    List<DashScopeResult> raw = raw(computing(searching(sources()).incrementalOutput(true)));
    expect(toolsOf(raw).equals(List.of(JsonParser.parseString(PROGRAM))), raw);
    String counts = "{\"search\": {\"count\": 1, \"strategy\": \"turbo\"}, \"code_interpreter\": {\"count\": 1}}";
    expect(pluginsOf(raw).equals(JsonParser.parseString(counts)), raw);
    List<GenerationResult> events = streamed(computing(searching(sources()).incrementalOutput(true)));
    expect(joined(events).equals(SAID), events);
    expectFound(events.get(events.size() - 1));
  }

  private static void unstreamed() throws Exception {
    expectRefusal(
        "This model only support stream mode, please enable the stream parameter to access the model.",
        () -> new Generation().call(computing(asking()).build()));
    expectRefusal(
        "enable_thinking", () -> streamed(computing(asking()).enableThinking(false).incrementalOutput(true)));
    // Its class for them is of another interface: a wish of this one is a switch.
    expectRefusal(
        "tools", () -> streamed(asking().tools(List.of(ToolCodeInterpreter.builder().build())).incrementalOutput(true)));
  }

  private static void refused() throws Exception {
    expectRefusal(
        "The value of the enable_thinking parameter is restricted to True.",
        () -> new Generation().call(searching(sources().searchStrategy("agent_max")).build()));
    expectRefusal(
        "search_strategy", () -> new Generation().call(searching(sources().searchStrategy("thorough")).build()));
  }

  // What they ask.

  private static GenerationParam.GenerationParamBuilder<?, ?> asking() {
    Message question = Message.builder().role("user").content("Who wrote the first program?").build();
    return GenerationParam.builder().model("svc-plus").messages(List.of(question)).resultFormat("message");
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> searching(SearchOptions.SearchOptionsBuilder<?, ?> options) {
    return asking().enableSearch(true).searchOptions(options.build());
  }

  private static SearchOptions.SearchOptionsBuilder<?, ?> sources() {
    return SearchOptions.builder().enableSource(true);
  }

  /** The SDK has no word of its own for it. */
  private static GenerationParam.GenerationParamBuilder<?, ?> computing(GenerationParam.GenerationParamBuilder<?, ?> asked) {
    return asked.enableThinking(true).parameter("enable_code_interpreter", true);
  }

  private static List<GenerationResult> streamed(GenerationParam.GenerationParamBuilder<?, ?> asked) throws Exception {
    return new Generation().streamCall(asked.build()).toList().blockingGet();
  }

  /** As JSON: what the SDK's classes leave out is here. */
  private static List<DashScopeResult> raw(GenerationParam.GenerationParamBuilder<?, ?> asked) throws Exception {
    ApiServiceOption service =
        ApiServiceOption.builder()
            .protocol(Protocol.HTTP)
            .httpMethod(HttpMethod.POST)
            .streamingMode(StreamingMode.OUT)
            .taskGroup("aigc")
            .task("text-generation")
            .function("generation")
            .isSSE(true)
            .build();
    return new SynchronizeHalfDuplexApi<GenerationParam>(service).streamCall(asked.build()).toList().blockingGet();
  }

  // What they read.

  private static Message messageOf(GenerationResult event) {
    List<GenerationOutput.Choice> choices = event.getOutput().getChoices();
    expect(choices != null && choices.size() == 1, event);
    return choices.get(0).getMessage();
  }

  private static String contentOf(GenerationResult event) {
    return messageOf(event).getContent();
  }

  private static String joined(List<GenerationResult> events) {
    return events.stream().map(ServerToolsCases::contentOf).collect(Collectors.joining());
  }

  private static List<?> toolsOf(List<DashScopeResult> events) {
    return events.stream()
        .map(event -> ((JsonObject) event.getOutput()).get("tool_info"))
        .filter(info -> info != null && !info.isJsonNull())
        .collect(Collectors.toList());
  }

  private static Object pluginsOf(List<DashScopeResult> events) {
    return events.get(events.size() - 1).getUsage().getAsJsonObject().get("plugins");
  }

  private static void expectFound(GenerationResult event) {
    SearchInfo info = event.getOutput().getSearchInfo();
    expect(info != null && info.getSearchResults().size() == 1, event);
    SearchInfo.SearchResult found = info.getSearchResults().get(0);
    expect(found.getIndex() == 1 && found.getTitle().equals("Ada Lovelace"), found);
    expect(found.getSiteName().equals("Example") && found.getIcon().isEmpty(), found);
    expect(found.getUrl().matches("http://127\\.0\\.0\\.1:\\d+/ada"), found);
  }

  private static void expectNoneTold(GenerationResult event) {
    expect(event.getOutput().getSearchInfo() == null, event);
  }

  private static void expectRefusal(String message, Case call) throws Exception {
    try {
      call.run();
    } catch (ApiException refusal) {
      expect(refusal.getStatus().getStatusCode() == 400, refusal);
      expect(refusal.getStatus().getCode().equals("InvalidParameter"), refusal);
      expect(refusal.getStatus().getMessage().contains(message), refusal);
      return;
    }
    throw new AssertionError("ApiException was not thrown");
  }

  private static void expect(boolean isTrue, Object... facts) {
    if (!isTrue) throw new AssertionError(Arrays.deepToString(facts));
  }
}

import static parley.CaseRunner.expect;

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
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import parley.CaseRunner;

/**
 * Search and code interpreter with the Java SDK; started by server-tools.test.ts. Each case runs in order and prints
 * one JSON line, {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a Parley that really searches and runs code, and whose model always gives the same
 * answers: server-tools-parley.ts.
 */
public final class ServerToolsCases {
  private static final String ANSWER = "Ada Lovelace wrote the first program in 1843. Enough said.";
  private static final String PROGRAM =
      "[{\"code_interpreter\": {\"code\": \"print(1 + 1)\"}, \"type\": \"code_interpreter\"}]";

  public static void main(String[] args) {
    Map<String, CaseRunner.Case> cases = new LinkedHashMap<>();
    cases.put("gets search results with the answer", ServerToolsCases::cited);
    cases.put("gets search results with an answer in text format", ServerToolsCases::text);
    cases.put("streams pieces, with search results in the first and the last event", ServerToolsCases::pieces);
    cases.put("streams the whole answer so far, with search results at the end", ServerToolsCases::soFar);
    cases.put("gets search results only before the answer with prepend_search_result", ServerToolsCases::before);
    cases.put("gets no sources unless requested", ServerToolsCases::noSources);
    cases.put("gets programs in a thinking stream", ServerToolsCases::programs);
    cases.put("gets search results and programs, with their counts", ServerToolsCases::both);
    cases.put("gets errors that explain how to enable programs", ServerToolsCases::unstreamed);
    cases.put("with invalid search options gets InvalidParameter with the prescribed text", ServerToolsCases::refused);
    Constants.baseHttpApiUrl = System.getenv("ADDRESS") + "/api/v1";
    Constants.apiKey = System.getenv("KEY");
    CaseRunner.run(cases);
  }

  private static void cited() throws Exception {
    GenerationResult answer = new Generation().call(searchParam(sourceOptions().enableCitation(true)).build());
    expect(getContent(answer).equals(ANSWER.replace("1843.", "1843[1].")), answer);
    expectSearchResults(answer);
    answer = new Generation().call(searchParam(sourceOptions().enableCitation(true).citationFormat("[ref_<number>]")).build());
    expect(getContent(answer).equals(ANSWER.replace("1843.", "1843[ref_1].")), answer);
  }

  private static void text() throws Exception {
    GenerationResult answer = new Generation().call(searchParam(sourceOptions()).resultFormat("text").build());
    expect(ANSWER.equals(answer.getOutput().getText()), answer);
    expectSearchResults(answer);
  }

  private static void pieces() throws Exception {
    List<GenerationResult> events = stream(searchParam(sourceOptions()).incrementalOutput(true));
    expect(joinContent(events).equals(ANSWER), events);
    expectSearchResults(events.get(0));
    expectSearchResults(events.get(events.size() - 1));
    expect(events.size() > 2, events);
    for (GenerationResult event : events.subList(1, events.size() - 1)) expectNoSearchInfo(event);
  }

  private static void soFar() throws Exception {
    List<GenerationResult> events = stream(searchParam(sourceOptions()).incrementalOutput(false));
    GenerationResult last = events.get(events.size() - 1);
    expect(getContent(last).equals(ANSWER), events);
    expectSearchResults(last);
  }

  private static void before() throws Exception {
    List<GenerationResult> events = stream(searchParam(sourceOptions().prependSearchResult(true)).incrementalOutput(true));
    expect(getContent(events.get(0)).isEmpty(), events.get(0));
    expectSearchResults(events.get(0));
    List<GenerationResult> later = events.subList(1, events.size());
    expect(joinContent(later).equals(ANSWER), events);
    for (GenerationResult event : later) expect(event.getOutput().getSearchInfo().getSearchResults().isEmpty(), event);
  }

  private static void noSources() throws Exception {
    GenerationResult answer = new Generation().call(createParam().enableSearch(true).build());
    expect(getContent(answer).equals(ANSWER), answer);
    expectNoSearchInfo(answer);
  }

  private static void programs() throws Exception {
    GenerationParam.GenerationParamBuilder<?, ?> param = createParam().incrementalOutput(true);
    List<GenerationResult> events = stream(withCodeInterpreter(param));
    expect(joinContent(events).equals(ANSWER), events);
    String thought =
        events.stream()
            .map(event -> getMessage(event).getReasoningContent())
            .filter(Objects::nonNull)
            .collect(Collectors.joining());
    expect(thought.contains("I work."), events);
    List<DashScopeResult> raw = streamRaw(withCodeInterpreter(param));
    expect(getToolInfos(raw).equals(List.of(JsonParser.parseString(PROGRAM))), raw);
    expect(getPluginUsage(raw).equals(JsonParser.parseString("{\"code_interpreter\": {\"count\": 1}}")), raw);
  }

  private static void both() throws Exception {
    List<DashScopeResult> raw = streamRaw(withCodeInterpreter(searchParam(sourceOptions()).incrementalOutput(true)));
    expect(getToolInfos(raw).equals(List.of(JsonParser.parseString(PROGRAM))), raw);
    String counts = "{\"search\": {\"count\": 1, \"strategy\": \"turbo\"}, \"code_interpreter\": {\"count\": 1}}";
    expect(getPluginUsage(raw).equals(JsonParser.parseString(counts)), raw);
    List<GenerationResult> events = stream(withCodeInterpreter(searchParam(sourceOptions()).incrementalOutput(true)));
    expect(joinContent(events).equals(ANSWER), events);
    expectSearchResults(events.get(events.size() - 1));
  }

  private static void unstreamed() throws Exception {
    expectRefusal(
        "This model only support stream mode, please enable the stream parameter to access the model.",
        () -> new Generation().call(withCodeInterpreter(createParam()).build()));
    expectRefusal(
        "enable_thinking", () -> stream(withCodeInterpreter(createParam()).enableThinking(false).incrementalOutput(true)));
    // The SDK's class for this tool belongs to another interface; the native interface has a switch.
    expectRefusal(
        "tools", () -> stream(createParam().tools(List.of(ToolCodeInterpreter.builder().build())).incrementalOutput(true)));
  }

  private static void refused() throws Exception {
    expectRefusal(
        "The value of the enable_thinking parameter is restricted to True.",
        () -> new Generation().call(searchParam(sourceOptions().searchStrategy("agent_max")).build()));
    expectRefusal(
        "search_strategy", () -> new Generation().call(searchParam(sourceOptions().searchStrategy("thorough")).build()));
  }

  // Requests

  private static GenerationParam.GenerationParamBuilder<?, ?> createParam() {
    Message question = Message.builder().role("user").content("Who wrote the first program?").build();
    return GenerationParam.builder().model("svc-plus").messages(List.of(question)).resultFormat("message");
  }

  private static GenerationParam.GenerationParamBuilder<?, ?> searchParam(SearchOptions.SearchOptionsBuilder<?, ?> options) {
    return createParam().enableSearch(true).searchOptions(options.build());
  }

  private static SearchOptions.SearchOptionsBuilder<?, ?> sourceOptions() {
    return SearchOptions.builder().enableSource(true);
  }

  /** The SDK has no builder method for this parameter. */
  private static GenerationParam.GenerationParamBuilder<?, ?> withCodeInterpreter(GenerationParam.GenerationParamBuilder<?, ?> param) {
    return param.enableThinking(true).parameter("enable_code_interpreter", true);
  }

  private static List<GenerationResult> stream(GenerationParam.GenerationParamBuilder<?, ?> param) throws Exception {
    return new Generation().streamCall(param.build()).toList().blockingGet();
  }

  /** Returns the events as JSON, with the fields that the SDK's classes omit. */
  private static List<DashScopeResult> streamRaw(GenerationParam.GenerationParamBuilder<?, ?> param) throws Exception {
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
    return new SynchronizeHalfDuplexApi<GenerationParam>(service).streamCall(param.build()).toList().blockingGet();
  }

  // Responses

  private static Message getMessage(GenerationResult event) {
    List<GenerationOutput.Choice> choices = event.getOutput().getChoices();
    expect(choices != null && choices.size() == 1, event);
    return choices.get(0).getMessage();
  }

  private static String getContent(GenerationResult event) {
    return getMessage(event).getContent();
  }

  private static String joinContent(List<GenerationResult> events) {
    return events.stream().map(ServerToolsCases::getContent).collect(Collectors.joining());
  }

  private static List<?> getToolInfos(List<DashScopeResult> events) {
    return events.stream()
        .map(event -> ((JsonObject) event.getOutput()).get("tool_info"))
        .filter(info -> info != null && !info.isJsonNull())
        .collect(Collectors.toList());
  }

  private static Object getPluginUsage(List<DashScopeResult> events) {
    return events.get(events.size() - 1).getUsage().getAsJsonObject().get("plugins");
  }

  private static void expectSearchResults(GenerationResult event) {
    SearchInfo info = event.getOutput().getSearchInfo();
    expect(info != null && info.getSearchResults().size() == 1, event);
    SearchInfo.SearchResult result = info.getSearchResults().get(0);
    expect(result.getIndex() == 1 && result.getTitle().equals("Ada Lovelace"), result);
    expect(result.getSiteName().equals("Example") && result.getIcon().isEmpty(), result);
    expect(result.getUrl().matches("http://127\\.0\\.0\\.1:\\d+/ada"), result);
  }

  private static void expectNoSearchInfo(GenerationResult event) {
    expect(event.getOutput().getSearchInfo() == null, event);
  }

  private static void expectRefusal(String message, CaseRunner.Case call) throws Exception {
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
}

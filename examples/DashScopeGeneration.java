import com.alibaba.dashscope.aigc.generation.Generation;
import com.alibaba.dashscope.aigc.generation.GenerationParam;
import com.alibaba.dashscope.common.Message;
import com.alibaba.dashscope.utils.Constants;
import java.util.List;

/** Sends a message to the native API with the DashScope client for Java. */
public final class DashScopeGeneration {
  public static void main(String[] args) throws Exception {
    String url = System.getenv().getOrDefault("PARLEY_URL", "http://127.0.0.1:8000");
    Constants.baseHttpApiUrl = url + "/api/v1";
    GenerationParam param =
        GenerationParam.builder()
            .apiKey(System.getenv("PARLEY_KEY"))
            .model("svc-plus")
            .messages(List.of(Message.builder().role("user").content("Name a color.").build()))
            .resultFormat("message")
            .maxTokens(24)
            .build();
    System.out.println(
        new Generation().call(param).getOutput().getChoices().get(0).getMessage().getContent());
    // The client's threads would keep the process alive for a minute.
    System.exit(0);
  }
}

import static parley.CaseRunner.expect;

import com.alibaba.dashscope.audio.asr.transcription.Transcription;
import com.alibaba.dashscope.audio.asr.transcription.TranscriptionParam;
import com.alibaba.dashscope.audio.asr.transcription.TranscriptionQueryParam;
import com.alibaba.dashscope.audio.asr.transcription.TranscriptionResult;
import com.alibaba.dashscope.audio.asr.transcription.TranscriptionTaskResult;
import com.alibaba.dashscope.common.TaskStatus;
import com.alibaba.dashscope.exception.ApiException;
import com.alibaba.dashscope.utils.Constants;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import parley.CaseRunner;

/**
 * Recognition of files by the Java SDK; started by transcription-java.test.ts. Each case runs in order and prints one
 * JSON line, {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a listening Parley that may fetch from this machine and runs the scripted
 * recognizer, which maps sample levels to words: 0.22 is w22, a level from 0.5 on ends the sentence.
 */
public final class TranscriptionCases {
  private static final String MODEL = "paraformer-v2";
  private static final int RATE = 16_000;
  private static final int[][] SPOKEN = {{500, 0}, {1000, 20}, {300, 60}, {1500, 0}, {700, 21}};
  private static String site;

  public static void main(String[] args) throws Exception {
    Map<String, CaseRunner.Case> cases = new LinkedHashMap<>();
    cases.put("recognizes files, and fails only those that cannot be read", TranscriptionCases::files);
    cases.put("may send channels, a word filter and ignored parameters", TranscriptionCases::parameters);
    cases.put("fails when no file can be read", TranscriptionCases::nothing);
    cases.put("is refused with a file URL", TranscriptionCases::refused);
    Constants.baseHttpApiUrl = System.getenv("ADDRESS") + "/api/v1";
    Constants.apiKey = System.getenv("KEY");
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", exchange -> {
      boolean isThere = exchange.getRequestURI().getPath().equals("/a.wav");
      byte[] body = isThere ? createWav(SPOKEN) : new byte[] {'-'};
      exchange.sendResponseHeaders(isThere ? 200 : 404, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    site = "http://127.0.0.1:" + server.getAddress().getPort();
    CaseRunner.run(cases);
  }

  private static void files() throws Exception {
    TranscriptionResult finished = transcribe(createParam("/a.wav", "/none.wav").build());
    expect(finished.getTaskStatus() == TaskStatus.SUCCEEDED, finished);
    TranscriptionTaskResult recognized = finished.getResults().get(0);
    expect(recognized.getSubTaskStatus() == TaskStatus.SUCCEEDED, recognized);
    expect(readText(recognized).equals("w20 w60. w21"), recognized);
    TranscriptionTaskResult missing = finished.getResults().get(1);
    expect(missing.getSubTaskStatus() == TaskStatus.FAILED, missing);
    expect(missing.getMessage().startsWith("The audio file cannot be downloaded."), missing);
    expect(finished.getMetrics().getTotal() == 2 && finished.getMetrics().getFailed() == 1, finished);
    expect(finished.getUsage().get("duration").getAsInt() == 4, finished);
  }

  private static void parameters() throws Exception {
    TranscriptionParam param =
        createParam("/a.wav")
            .channelId(List.of(0))
            .specialWordFilter("{\"filter_with_empty\": {\"word_list\": [\"w20\"]}}")
            .disfluencyRemovalEnabled(true)
            .diarizationEnabled(true)
            .speakerCount(2)
            .parameter("language_hints", new String[] {"en", "zh"})
            .build();
    expect(readText(transcribe(param).getResults().get(0)).equals("w60. w21"));
  }

  private static void nothing() {
    TranscriptionResult finished = transcribe(createParam("/none.wav").build());
    expect(finished.getTaskStatus() == TaskStatus.FAILED, finished);
    expect(finished.getOutput().get("code").getAsString().equals("InvalidFile.DownloadFailed"), finished);
  }

  private static void refused() {
    try {
      new Transcription().asyncCall(TranscriptionParam.builder().model(MODEL).fileUrls(List.of("file:///etc/passwd")).build());
    } catch (ApiException error) {
      expect(error.getStatus().getStatusCode() == 400, error);
      expect(error.getStatus().getMessage().contains("file_urls[0]"), error);
      return;
    }
    expect(false, "nothing was thrown");
  }

  private static TranscriptionParam.TranscriptionParamBuilder<?, ?> createParam(String... paths) {
    return TranscriptionParam.builder().model(MODEL).fileUrls(Arrays.stream(paths).map(path -> site + path).toList());
  }

  private static TranscriptionResult transcribe(TranscriptionParam param) {
    Transcription transcription = new Transcription();
    TranscriptionResult started = transcription.asyncCall(param);
    expect(started.getTaskStatus() == TaskStatus.PENDING, started);
    return transcription.wait(TranscriptionQueryParam.FromTranscriptionParam(param, started.getTaskId()));
  }

  private static String readText(TranscriptionTaskResult result) throws Exception {
    try (InputStreamReader reader = new InputStreamReader(new URL(result.getTranscriptionUrl()).openStream(), StandardCharsets.UTF_8)) {
      JsonObject json = JsonParser.parseReader(reader).getAsJsonObject();
      return json.getAsJsonArray("transcripts").get(0).getAsJsonObject().get("text").getAsString();
    }
  }

  private static byte[] createWav(int[][] parts) {
    ByteArrayOutputStream data = new ByteArrayOutputStream();
    for (int[] part : parts) {
      int sample = Math.round(part[1] / 100f * 32_767);
      for (int at = 0; at < part[0] * RATE / 1_000; at += 1) {
        data.write(sample);
        data.write(sample >> 8);
      }
    }
    ByteBuffer file = ByteBuffer.allocate(44 + data.size()).order(ByteOrder.LITTLE_ENDIAN);
    file.put("RIFF".getBytes(StandardCharsets.US_ASCII)).putInt(36 + data.size());
    file.put("WAVEfmt ".getBytes(StandardCharsets.US_ASCII)).putInt(16);
    file.putShort((short) 1).putShort((short) 1).putInt(RATE).putInt(RATE * 2).putShort((short) 2).putShort((short) 16);
    file.put("data".getBytes(StandardCharsets.US_ASCII)).putInt(data.size()).put(data.toByteArray());
    return file.array();
  }
}

import static parley.CaseRunner.expect;

import com.alibaba.dashscope.audio.asr.recognition.Recognition;
import com.alibaba.dashscope.audio.asr.recognition.RecognitionParam;
import com.alibaba.dashscope.audio.asr.recognition.RecognitionResult;
import com.alibaba.dashscope.common.ResultCallback;
import com.alibaba.dashscope.exception.ApiException;
import com.alibaba.dashscope.utils.Constants;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.reactivex.Flowable;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import parley.CaseRunner;

/**
 * Realtime recognition of the Java SDK; started by recognition-java.test.ts. Each case runs in order and prints one
 * JSON line, {"case", "error"}.
 *
 * <p>Environment: ADDRESS and KEY of a listening Parley with the scripted recognizer, which maps sample levels to words:
 * 0.22 is w22, a level from 0.5 on ends the sentence.
 */
public final class RecognitionCases {
  private static final String MODEL = "paraformer-realtime-v2";
  private static final int RATE = 16_000;
  private static final int FRAME_BYTES = 3_200;
  private static final int[][] SPOKEN = {{500, 0}, {1000, 20}, {300, 60}, {1500, 0}, {700, 21}, {1500, 0}, {600, 41}};
  private static final List<String> EXPECTED_TEXTS = List.of("w20 w60.", "w21", "W41");

  public static void main(String[] args) {
    Map<String, CaseRunner.Case> cases = new LinkedHashMap<>();
    cases.put("recognizes a file", RecognitionCases::wholeFile);
    cases.put("recognizes while it sends, with a callback", RecognitionCases::called);
    cases.put("recognizes while it sends, as a stream", RecognitionCases::streamed);
    cases.put("may use one object twice", RecognitionCases::twice);
    cases.put("may send ignored parameters and a vocabulary", RecognitionCases::parameters);
    cases.put("with an unknown model gets ModelNotFound", RecognitionCases::unknownModel);
    cases.put("with a bad parameter gets InvalidParameter, which names it", RecognitionCases::badParameter);
    Constants.baseWebsocketApiUrl = System.getenv("ADDRESS").replace("http", "ws") + "/api-ws/v1/inference/";
    Constants.apiKey = System.getenv("KEY");
    CaseRunner.run(cases);
  }

  private static void wholeFile() throws Exception {
    File file = File.createTempFile("spoken", ".pcm");
    Files.write(file.toPath(), createSamples(SPOKEN));
    try {
      String json = new Recognition().call(createParam().build(), file);
      expect(parseTexts(json).equals(EXPECTED_TEXTS), json);
    } finally {
      expect(file.delete());
    }
  }

  private static void called() throws Exception {
    CallbackRecorder recorder = new CallbackRecorder();
    Recognition recognition = new Recognition();
    recognition.call(createParam().build(), recorder);
    for (ByteBuffer frame : splitIntoFrames(createSamples(SPOKEN))) recognition.sendAudioFrame(frame);
    recognition.stop();
    List<RecognitionResult> results = recorder.finished.get(30, TimeUnit.SECONDS);
    expect(getFinalTexts(results).equals(EXPECTED_TEXTS), results);
    for (RecognitionResult result : results) {
      expect(result.isSentenceEnd() == (result.getSentence().getEndTime() != null), result);
      expect(!result.getSentence().getWords().isEmpty(), result);
    }
    expect(results.get(results.size() - 1).getUsage().getDuration() == 7, results);
  }

  private static void streamed() throws Exception {
    expect(getFinalTexts(recognizeStream(createParam().build(), createSamples(SPOKEN))).equals(EXPECTED_TEXTS));
  }

  private static void twice() throws Exception {
    Recognition recognition = new Recognition();
    for (int round = 0; round < 2; round++) {
      Flowable<ByteBuffer> frames = Flowable.fromIterable(splitIntoFrames(createSamples(SPOKEN)));
      List<RecognitionResult> results = new ArrayList<>();
      recognition.streamCall(createParam().build(), frames).blockingForEach(results::add);
      expect(getFinalTexts(results).equals(EXPECTED_TEXTS), results);
    }
  }

  private static void parameters() throws Exception {
    RecognitionParam param =
        createParam()
            .parameter("unknown_parameter", true)
            .parameter("diarization_enabled", true)
            .parameter("vocabulary", Map.of("Parley", 5))
            .parameter("language_hints", List.of("en"))
            .build();
    byte[] named = createSamples(new int[][] {{500, 30}, {500, 60}, {1500, 0}});
    expect(getFinalTexts(recognizeStream(param, named)).equals(List.of("Parley w60.")));
  }

  private static void unknownModel() {
    ApiException error = expectRefusal(createParam().model("no-such-model").build());
    expect(error.getStatus().getCode().equals("ModelNotFound"), error.getStatus());
    expect(error.getStatus().getMessage().contains("no-such-model"), error.getStatus());
    expect(!error.getStatus().getRequestId().isEmpty(), error.getStatus());
  }

  private static void badParameter() {
    ApiException error = expectRefusal(createParam().parameter("max_sentence_silence", 100).build());
    expect(error.getStatus().getCode().equals("InvalidParameter"), error.getStatus());
    expect(error.getStatus().getMessage().contains("max_sentence_silence"), error.getStatus());
  }

  private static RecognitionParam.RecognitionParamBuilder<?, ?> createParam() {
    return RecognitionParam.builder().model(MODEL).format("pcm").sampleRate(RATE);
  }

  private static List<RecognitionResult> recognizeStream(RecognitionParam param, byte[] data) throws Exception {
    List<RecognitionResult> results = new ArrayList<>();
    new Recognition().streamCall(param, Flowable.fromIterable(splitIntoFrames(data))).blockingForEach(results::add);
    return results;
  }

  private static ApiException expectRefusal(RecognitionParam param) {
    try {
      recognizeStream(param, createSamples(SPOKEN));
    } catch (ApiException error) {
      return error;
    } catch (Exception other) {
      throw new AssertionError("another failure", other);
    }
    throw new AssertionError("it was not refused");
  }

  private static List<String> getFinalTexts(List<RecognitionResult> results) {
    List<String> texts = new ArrayList<>();
    for (RecognitionResult result : results)
      if (result.isSentenceEnd()) texts.add(result.getSentence().getText());
    return texts;
  }

  private static List<String> parseTexts(String json) {
    JsonArray sentences = JsonParser.parseString(json).getAsJsonObject().getAsJsonArray("sentences");
    List<String> texts = new ArrayList<>();
    // The SDK also collects partial results of a sentence.
    for (JsonElement each : sentences) {
      JsonObject sentence = each.getAsJsonObject();
      if (sentence.get("sentence_end").getAsBoolean()) texts.add(sentence.get("text").getAsString());
    }
    return texts;
  }

  private static byte[] createSamples(int[][] parts) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int[] part : parts) {
      int sample = Math.round(part[1] / 100f * 32767);
      for (int count = 0; count < part[0] * RATE / 1000; count++) {
        bytes.write(sample & 0xff);
        bytes.write(sample >> 8);
      }
    }
    return bytes.toByteArray();
  }

  private static List<ByteBuffer> splitIntoFrames(byte[] data) {
    List<ByteBuffer> frames = new ArrayList<>();
    for (int at = 0; at < data.length; at += FRAME_BYTES)
      frames.add(ByteBuffer.wrap(Arrays.copyOfRange(data, at, Math.min(data.length, at + FRAME_BYTES))));
    return frames;
  }

  private static final class CallbackRecorder extends ResultCallback<RecognitionResult> {
    private final List<RecognitionResult> results = Collections.synchronizedList(new ArrayList<>());
    private final CompletableFuture<List<RecognitionResult>> finished = new CompletableFuture<>();

    @Override
    public void onEvent(RecognitionResult result) {
      results.add(result);
    }

    @Override
    public void onComplete() {
      finished.complete(results);
    }

    @Override
    public void onError(Exception error) {
      finished.completeExceptionally(error);
    }
  }
}

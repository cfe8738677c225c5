// Streams a chat completion with go-openai.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/sashabaranov/go-openai"
)

func main() {
	url := os.Getenv("PARLEY_URL")
	if url == "" {
		url = "http://127.0.0.1:8000"
	}
	config := openai.DefaultConfig(os.Getenv("PARLEY_KEY"))
	config.BaseURL = url + "/v1"
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{
		Model:     "svc-plus",
		Messages:  []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "Name a color."}},
		MaxTokens: 24,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if len(chunk.Choices) > 0 {
			fmt.Print(chunk.Choices[0].Delta.Content)
		}
	}
	fmt.Println()
}

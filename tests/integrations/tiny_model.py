"""A tiny language model that is made on the spot, and a trainer in which a script answers in its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with one token for each byte, and the chat template of a model that calls tools."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    return made


class ScriptedModel(Qwen3ForCausalLM):  # type: ignore[misc]
    """A model with random weights, whose answers come from a script: a call of the tool `play`."""

    script: Callable[[str], str]
    tokenizer: PreTrainedTokenizerFast

    def generate(self, input_ids: torch.Tensor, **options: Any) -> torch.Tensor:
        """Return the prompts with the script's answers appended."""
        rows = []
        for prompt in self.tokenizer.batch_decode(input_ids):
            question = prompt.rpartition("<|im_start|>assistant")[0].rpartition("<|im_end|>")[0]
            call = json.dumps({"name": "play", "arguments": {"action": self.script(question)}})
            rows.append(self.tokenizer.encode(f"<tool_call>\n{call}\n</tool_call><|im_end|>"))
        longest = max(map(len, rows))
        padded = [row + [self.tokenizer.pad_token_id] * (longest - len(row)) for row in rows]
        return torch.cat([input_ids, torch.tensor(padded)], dim=1)


def make_trainer(factory: Callable[[], Any], dataset: Any, folder: Path, script: Callable[[str], str]) -> Any:
    """Return a GRPOTrainer for one step with two completions, in which the script plays three decisions each."""
    tokenizer = make_tokenizer()
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=40_000,
    )
    model = ScriptedModel(config)
    model.script, model.tokenizer = script, tokenizer
    settings = trl.GRPOConfig(
        output_dir=str(folder),
        max_steps=1,
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=15_000,
        max_tool_calling_iterations=3,
        report_to="none",
        save_strategy="no",
        logging_steps=1,
        use_cpu=True,
    )
    return trl.GRPOTrainer(
        model=model,
        args=settings,
        train_dataset=dataset,
        processing_class=tokenizer,
        environment_factory=factory,
    )

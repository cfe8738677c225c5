"""A text, and pydantic models whose values the smallest model finds in it. Person has nesting, a list, an enumeration, bounds
and an optional value."""

from enum import Enum
from typing import Annotated, Optional

from pydantic import BaseModel, Field

PERSON_TEXT = (
    "Anna Kowalska is 31 years old. She is a nurse, lives in Lyon, France, and speaks Polish and French."
)


class Job(Enum):
    DOCTOR = "doctor"
    NURSE = "nurse"
    TEACHER = "teacher"


class Address(BaseModel):
    city: str = Field(max_length=30)
    country: str = Field(max_length=30)


class Person(BaseModel):
    """A person."""

    name: str = Field(max_length=40)
    age: int = Field(ge=0, le=150)
    job: Job
    languages: list[Annotated[str, Field(max_length=20)]] = Field(min_length=1, max_length=3)
    address: Address
    phone: Optional[str] = Field(default=None, max_length=20)


class GetWeather(BaseModel):
    """Get the current weather in a city."""

    city: str = Field(description="The name of the city.", max_length=40)


WEATHER_QUESTION = "What is the weather in Paris right now?"
WEATHER_RESULT = '{"temperature": 21, "sky": "sunny"}'

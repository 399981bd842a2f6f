package org.example;

import module java.base;
import module com.example . shop ;
import java.util.List;

public class Modules {
    List<String> names;
}
